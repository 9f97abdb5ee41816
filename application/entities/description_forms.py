"""Descriptions of entities for a client: the caller's rights, and the rules of every field."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from domain.entities.markers import OnDelete, OnLeave, WidgetName
from domain.entities.screens.choices import ColorName


class EntityRights(Struct, kw_only=True):
    """The caller's rights on rows of the entity; ``export`` follows from ``read``."""

    create: bool
    read: bool
    update: bool
    delete: bool
    purge: bool
    # ``import`` is a Python keyword
    import_: bool = msgspec.field(name="import")
    export: bool


class EntityFeatures(Struct, rename="camel", kw_only=True):
    """API features of the entity; ``search`` names the searched fields."""

    soft_delete: bool
    history: bool
    shares: bool
    changes: bool
    search: list[str]
    tenant_owned: bool


class EntityLimits(Struct, rename="camel", kw_only=True):
    """Maximum rows of a page and of a batch."""

    page_size: int
    batch: int


class FieldRules(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Rules for a value of a body, in JSON Schema terms; the last three are those of files."""

    precision: int | UnsetType = UNSET
    scale: int | UnsetType = UNSET
    minimum: float | int | UnsetType = UNSET
    maximum: float | int | UnsetType = UNSET
    exclusive_minimum: float | int | UnsetType = UNSET
    exclusive_maximum: float | int | UnsetType = UNSET
    multiple_of: float | int | UnsetType = UNSET
    min_length: int | UnsetType = UNSET
    max_length: int | UnsetType = UNSET
    pattern: str | UnsetType = UNSET
    choices: list[str] | UnsetType = UNSET
    types: list[str] | UnsetType = UNSET
    thumbnails: dict[str, tuple[int, int]] | UnsetType = UNSET
    max_bytes: int | UnsetType = UNSET
    limit: int | UnsetType = UNSET


DefaultValue = Annotated[object, Meta(description="The default as JSON; null too where there is none.")]


class ChoiceDescription(Struct, kw_only=True):
    """A value of a choice, with the label and the colour for screens."""

    value: str
    label: str
    color: ColorName


class FieldDescription(Struct, rename="camel", kw_only=True):
    """A field; the last five attributes are set if the field references another entity or has links to it:
    ``on_leave`` for members, ``on_delete`` for all others. A choice has ``choices``.

    ``indexed``: an index begins with the field. ``target_display`` is null if the caller may not read the target.
    """

    name: str
    title: str
    kind: str
    required: bool
    nullable: bool
    default: DefaultValue
    writable: bool
    rules: FieldRules
    operators: list[str]
    sortable: bool
    indexed: bool
    help: str | None
    widget: WidgetName | None
    choices: list[ChoiceDescription] | UnsetType = UNSET
    target: str | UnsetType = UNSET
    relation: str | UnsetType = UNSET
    target_display: str | None | UnsetType = UNSET
    on_delete: OnDelete | UnsetType = UNSET
    on_leave: OnLeave | UnsetType = UNSET


class RelationDescription(Struct, kw_only=True):
    """A relation to an entity that the caller may read; ``by`` is the referring field, on the target for ``many``."""

    name: str
    target: str
    by: str
    many: bool


class EntityDescription(Struct, kw_only=True):
    """An entity; the field ``display`` names a row, null without such a field; ``sort`` is the default order.

    ``own`` lists the actions of ``may`` that the caller may do only to own rows, ``mine`` the fields that hold the id
    of a row's owner.
    """

    plural: str
    name: str
    title: str
    display: str | None
    columns: list[str]
    may: EntityRights
    own: list[str]
    mine: list[str]
    has: EntityFeatures
    sort: str
    limits: EntityLimits
    fields: list[FieldDescription]
    relations: list[RelationDescription]
    unique: list[list[str]]


class EntityList(Struct, kw_only=True):
    """Entities that the caller may read, and the caller's areas of administration."""

    entities: list[EntityDescription]
    areas: list[str]
