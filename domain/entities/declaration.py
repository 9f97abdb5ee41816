"""Models of declared entities, the source of routes, tables, schemas and queries."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from types import new_class
from typing import Annotated, Any, Union
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.inspect import Metadata, StrType, UnionType, type_info

from domain.entities.attachments.marks import Attachment
from domain.entities.kinds import Kind
from domain.entities.markers import UNGUARDED, Declaration, Guard, Links, Money, OnDelete, Reference, Unique, WidgetName
from domain.entities.mistakes.closed_fields import closed_field
from domain.entities.screens.choices import Choice
from domain.errors import FieldError
from domain.scope import Rights

Hidden = frozenset[tuple[str, str]]
"""Fields hidden from a caller: (plural of the entity, Python name of the field)."""
NOTHING_HIDDEN: Hidden = frozenset()
ACTIONS_ON_OWN = ("read", "update", "delete")
"""Actions with a separate permission for own rows, of entities with ownership rules."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class FieldModel:
    """A field of an entity. ``name`` is its column and Python name, ``wire`` its JSON name.

    ``type`` is msgspec's type for a value in a body; ``default`` is UNSET for a required value. ``label``,
    ``help_text``, ``widget`` and ``choice_looks`` are those of the declaration, for screens.
    """

    name: str
    wire: str
    kind: Kind
    type: object
    nullable: bool = False
    default: object | UnsetType = UNSET
    choices: tuple[str, ...] = ()
    choice_looks: Mapping[str, Choice] = dataclasses.field(default_factory=dict, hash=False)
    money: Money | None = None
    reference: Reference | None = None
    link: Links | None = None
    attachment: Attachment | None = None
    guard: Guard = UNGUARDED
    label: str | None = None
    help_text: str | None = None
    widget: WidgetName | None = None
    server_owned: bool = False

    @property
    def required(self) -> bool:
        return self.default is UNSET

    @property
    def target(self) -> str | None:
        """Plural of the entity that the field refers or links to."""
        leads_to = self.reference or self.link
        return None if leads_to is None else leads_to.target

    @property
    def max_length(self) -> int | None:
        """Maximum number of characters of a text, None without a bound."""
        kind = type_info(self.type)
        parts = kind.types if isinstance(kind, UnionType) else (kind,)
        texts = (part.type if isinstance(part, Metadata) else part for part in parts)
        return next((text.max_length for text in texts if isinstance(text, StrType)), None)


def _server_field(name: str, wire: str, kind: Kind, checked: object, nullable: bool = False) -> FieldModel:
    return FieldModel(name=name, wire=wire, kind=kind, type=checked, nullable=nullable, server_owned=True)


_TIME = Annotated[datetime, Meta(tz=True)]
ID = _server_field("id", "id", Kind.UUID, UUID)
TENANT = _server_field("tenant_id", "tenantId", Kind.UUID, UUID)
AUDIT = (
    _server_field("created_at", "createdAt", Kind.TIMESTAMP, _TIME),
    _server_field("updated_at", "updatedAt", Kind.TIMESTAMP, _TIME),
    _server_field("created_by", "createdBy", Kind.UUID, UUID | None, nullable=True),
    _server_field("updated_by", "updatedBy", Kind.UUID, UUID | None, nullable=True),
)
SOFT_DELETE = (
    _server_field("is_deleted", "isDeleted", Kind.BOOLEAN, bool),
    _server_field("deleted_at", "deletedAt", Kind.TIMESTAMP, Union[_TIME, None], nullable=True),
    _server_field("deleted_by", "deletedBy", Kind.UUID, UUID | None, nullable=True),
)
VERSION = _server_field("version", "version", Kind.INTEGER, int)
SERVER_OWNED = (ID, TENANT, *AUDIT, *SOFT_DELETE, VERSION)
"""Fields set by the server; ignored in a body, so that a client can send a row back as read."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Relation:
    """A relation; ``by`` is the referring field: on this entity for to-one and links, else on the target.

    ``source`` is the plural of this entity; ``is_link`` marks the relation of a field with links.
    """

    name: str
    target: str
    by: str
    is_many: bool
    source: str
    is_link: bool = False
    on_delete: OnDelete = "restrict"

    @property
    def is_inverse(self) -> bool:
        """Whether the target has the field ``by``."""
        return self.is_many and not self.is_link

    @property
    def holder(self) -> str:
        """Plural of the entity with the field ``by``."""
        return self.target if self.is_inverse else self.source

    @property
    def members(self) -> tuple[str, ...]:
        """Members of an answer with the related rows."""
        return (self.name, f"{self.name}HasMore") if self.is_many else (self.name,)


# Compare by identity, so that caches can use a model as their key.
@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class EntityModel:
    """Model of a declared entity, the source of routes, tables, schemas and queries.

    ``fields`` are in the order of a response: ``id``, the declared ones, the server's own. The two forms are structs of
    the declared fields, for bodies. ``by_wire`` has lower-case keys.
    """

    name: str
    plural: str
    table: str
    struct: type[Struct]
    declaration: Declaration
    fields: tuple[FieldModel, ...]
    relations: Mapping[str, Relation]
    create_form: type[Struct]
    update_form: type[Struct]
    by_name: Mapping[str, FieldModel] = dataclasses.field(repr=False)
    by_wire: Mapping[str, FieldModel] = dataclasses.field(repr=False)

    @cached_property
    def declared(self) -> tuple[FieldModel, ...]:
        return tuple(field for field in self.fields if not field.server_owned)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.declared)

    @cached_property
    def columns(self) -> tuple[FieldModel, ...]:
        """The declared fields with a column: all but links."""
        return tuple(field for field in self.declared if field.link is None)

    @cached_property
    def attachments(self) -> tuple[FieldModel, ...]:
        return tuple(field for field in self.declared if field.attachment is not None)

    @cached_property
    def links(self) -> tuple[FieldModel, ...]:
        """The declared fields with links, which junction tables store."""
        return tuple(field for field in self.declared if field.link is not None)

    @property
    def indexed_search(self) -> tuple[str, ...]:
        """Search fields covered by an index: all of them, or none."""
        return self.declaration.search if self.declaration.search_index else ()

    @property
    def tenant_owned(self) -> bool:
        return self.declaration.tenant_owned

    @property
    def soft_delete(self) -> bool:
        return self.declaration.soft_delete

    @property
    def unique(self) -> tuple[Unique, ...]:
        return self.declaration.unique

    @cached_property
    def has_check(self) -> bool:
        return callable(getattr(self.struct, "check", None))

    @cached_property
    def asks_other_rows(self) -> bool:
        return callable(getattr(self.struct, "check_stored", None))

    @cached_property
    def has_rule(self) -> bool:
        return self.has_check or self.asks_other_rows

    def rules_look_at(self, changed: Iterable[str]) -> bool:
        """Return whether a change of these fields (Python names) can break a rule."""
        reads = self.declaration.check_reads
        return self.asks_other_rows or (self.has_check and (reads is None or not reads.isdisjoint(changed)))

    @cached_property
    def hides_fields(self) -> bool:
        """Whether some field does not exist for some callers who may read the rows."""
        return self.declaration.shared_with is not None or any(field.guard.read for field in self.declared)

    @property
    def has_versions(self) -> bool:
        """Whether a change of a row raises its version; otherwise every row has version 0."""
        return "version" in self.by_name

    @property
    def can_be_purged(self) -> bool:
        """Whether rows can be permanently deleted after a soft delete."""
        return self.declaration.writable and self.soft_delete

    def permission(self, action: str) -> str:
        return f"{action}:{self.plural}"

    def permissions(self, action: str) -> tuple[str, ...]:
        """Return the permissions that admit a caller: with ownership rules, also that for own rows."""
        if self.declaration.read_with is not None and action == "read":
            return (self.permission(action), self.declaration.read_with)
        has_own = self.declaration.own and action in ACTIONS_ON_OWN
        return (self.permission(action), *((self.permission(f"{action}-own"),) if has_own else ()))

    def broken_rules(self, values: Mapping[str, object], before: Mapping[str, object] | None) -> list[FieldError]:
        """Return errors of the entity's ``check``, by JSON names; ``before`` is None for a new row."""
        if not self.has_check:
            return []
        instance: Any = self._checked_instance(values)
        return list(instance.check(None if before is None else self._checked_instance(before)))

    def made_of(self, values: Mapping[str, object]) -> Struct:
        return self.struct(**self._declared_values(values))

    def _checked_instance(self, values: Mapping[str, object]) -> Struct:
        return self._checked_struct(**self._declared_values(values))

    def _declared_values(self, values: Mapping[str, object]) -> Mapping[str, object]:
        # Rows also contain server columns, not accepted by the struct.
        return values if len(values) == len(self.names) else {name: values[name] for name in self.names}

    @cached_property
    def _checked_struct(self) -> type[Struct]:
        reads = self.declaration.check_reads
        if reads is None:
            return self.struct
        # A change of a field outside ``check_reads`` skips ``check``, so make ``check`` fail if it reads such a field.
        closed = {name: closed_field(self.plural, name) for name in self.names if name not in reads}
        made: type[Struct] = new_class(self.struct.__name__, (self.struct,), {}, lambda body: body.update(closed))
        return made


# Compare by identity, so that caches can use a registry as their key.
@dataclasses.dataclass(frozen=True, eq=False)
class Registry:
    """The served entities by plural; ``oddities`` are warnings at startup. Only other rows show ``internal`` ones."""

    models: Mapping[str, EntityModel]
    oddities: tuple[str, ...] = ()
    internal: Mapping[str, EntityModel] = dataclasses.field(default_factory=dict)

    def __getitem__(self, plural: str) -> EntityModel:
        return self.models.get(plural) or self.internal[plural]

    def __iter__(self) -> Iterator[EntityModel]:
        return iter(self.models.values())

    @cached_property
    def stored(self) -> tuple[EntityModel, ...]:
        """Entities with their own table."""
        return tuple(model for model in self if not model.declaration.is_view)

    def target(self, relation: Relation) -> EntityModel:
        return self[relation.target]

    def referring(self, plural: str) -> list[tuple[EntityModel, FieldModel]]:
        return [
            (model, field)
            for model in self
            for field in model.fields
            if field.reference is not None and field.reference.target == plural
        ]

    def linking(self, plural: str) -> list[tuple[EntityModel, FieldModel]]:
        """Return the fields with links to this entity, each with its entity."""
        return [(model, field) for model in self for field in model.links if field.link and field.link.target == plural]

    def is_referred_to(self, plural: str) -> bool:
        return bool(self.referring(plural) or self.linking(plural))

    def changed_by_deletion(self, model: EntityModel) -> Iterator[tuple[EntityModel, FieldModel, str]]:
        """Yield the referencing entity, its reference field, and the effect of a deletion: ``cascade`` or ``clear``."""
        for referring, field in self.referring(model.plural):
            if field.reference is not None and field.reference.on_delete != "restrict":
                yield referring, field, field.reference.on_delete

    def deletion_asks_a_rule(self, model: EntityModel) -> bool:
        """Return whether deleting such rows clears references that a rule reads, directly or through cascades."""
        waiting, seen = [model], {model.plural}
        while waiting:
            for referring, field, on_delete in self.changed_by_deletion(waiting.pop()):
                if on_delete == "clear" and referring.rules_look_at([field.name]):
                    return True
                if on_delete == "cascade" and referring.plural not in seen:
                    seen.add(referring.plural)
                    waiting.append(referring)
        return False

    def relations_of(self, model: EntityModel, hidden: Hidden) -> list[Relation]:
        """Return the relations that a caller without access to these hidden fields can see."""
        # Security: a hidden reference hides its relation on both sides, because filters would reveal its values.
        return [relation for relation in model.relations.values() if (relation.holder, relation.by) not in hidden]

    def hidden_from(self, rights: Rights) -> Hidden:
        """Fields that do not exist for a caller with these rights: without the read permission, or no super-admin."""
        others = NOTHING_HIDDEN if rights.is_super_admin else self._of_super_admins
        # Most registries guard nothing.
        if not self._closed_to_some:
            return others
        return others | {(plural, name) for plural, name, read in self._closed_to_some if not rights.may(read)}

    @cached_property
    def _of_super_admins(self) -> Hidden:
        named = ((model.plural, model.declaration.shared_with) for model in self)
        return frozenset((plural, name) for plural, name in named if name is not None)

    @cached_property
    def _closed_to_some(self) -> tuple[tuple[str, str, str], ...]:
        return tuple(
            (model.plural, field.name, field.guard.read)
            for model in self
            for field in model.fields
            if field.guard.read is not None
        )

    def reached_from(self, model: EntityModel) -> list[EntityModel]:
        """The entity and those that relations lead to from it, over any number of steps."""
        reached = {model.plural: model}
        waiting = [model]
        while waiting:
            targets = (self.target(relation) for relation in waiting.pop().relations.values())
            new = {target.plural: target for target in targets if target.plural not in reached}
            reached |= new
            waiting += new.values()
        return list(reached.values())
