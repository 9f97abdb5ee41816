"""Converts declared structs to models, and reports all errors in the declarations at once."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Union, get_type_hints

import msgspec
from msgspec import UNSET, Struct, UnsetType, defstruct
from msgspec.structs import FieldInfo, fields

from domain.entities.attachments.files import AttachedFile
from domain.entities.attachments.marks import FILES
from domain.entities.declaration import (
    AUDIT,
    ID,
    SERVER_OWNED,
    SOFT_DELETE,
    TENANT,
    VERSION,
    EntityModel,
    FieldModel,
    Registry,
    Relation,
)
from domain.entities.field_reading import read_field
from domain.entities.markers import Declaration, Links, Reference
from domain.entities.mistakes.arguments import right_arguments
from domain.entities.mistakes.entities import duplicates, mistakes_of, oddities
from domain.entities.mistakes.places import Mistake, report_line


class DeclarationError(Exception):
    """Error for invalid declarations; the message lists every error, one per line."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(
            "The entity declarations cannot be served:\n" + "\n".join(f"  - {mistake}" for mistake in mistakes)
        )


def build_registry(kinds: Iterable[type[Struct]]) -> Registry:
    """Build the registry of the declared structs. Raises DeclarationError with all errors of all entities."""
    readings = [_read(kind) for kind in kinds]
    models = [reading.model for reading in readings if reading.model is not None]
    mistakes = [report_line(reading.kind, mistake) for reading in readings for mistake in reading.mistakes]
    # Check also the entities with unreadable fields, so that one start reports all errors.
    broken = {reading.plural: reading.broken for reading in readings if reading.model is None or reading.broken}
    mistakes += duplicates(models)
    registry = Registry({model.plural: model for model in models}, tuple(oddities(models)), {FILES: _files()})
    mistakes += [
        report_line(model.struct, mistake)
        for model in models
        for mistake in mistakes_of(model, registry, _RESERVED_NAMES, broken)
    ]
    if mistakes:
        raise DeclarationError(mistakes)
    return registry


@cache
def _files() -> EntityModel:
    """Return the internal entity that fields with files refer to."""
    return read_entity(AttachedFile)


def read_entity(kind: type[Struct]) -> EntityModel:
    """Return the model of one declared struct, not yet checked against other entities. Raises DeclarationError."""
    reading = _read(kind)
    if reading.model is None or reading.mistakes:
        raise DeclarationError([report_line(kind, mistake) for mistake in reading.mistakes])
    return reading.model


# The model is None if even the field names are unknown; ``broken`` lists fields without a type.
class _Reading(Struct, frozen=True):
    kind: type[Struct]
    plural: str
    model: EntityModel | None
    mistakes: tuple[Mistake, ...]
    broken: frozenset[str] = frozenset()


def _read(kind: type[Struct]) -> _Reading:
    given: Declaration | None = getattr(kind, "__entity__", None)
    if given is None:
        return _Reading(kind, "", None, (Mistake("is listed as an entity but has no decorator @entity(...)"),))
    declaration, wrong = right_arguments(given)
    is_named = isinstance(declaration.plural, str)
    plural = declaration.plural if is_named else ""
    try:
        hints = get_type_hints(kind, include_extras=True)
        infos = fields(kind)
    except Exception as error:  # noqa: BLE001  # annotations are a user's code, which may raise anything
        unread = Mistake(f"has an annotation that cannot be read: {type(error).__name__}: {error}")
        return _Reading(kind, plural, None, (*wrong, unread))
    read = {info.name: read_field(info, hints[info.name]) for info in infos}
    mistakes = [*wrong]
    mistakes += [Mistake(f"field {name!r} {text}", name) for name, (_, texts, _) in read.items() for text in texts]
    broken = frozenset(name for name, (_, _, is_broken) in read.items() if is_broken)
    model = _model(kind, declaration, [field for field, _, _ in read.values()]) if is_named else None
    return _Reading(kind, plural, model, tuple(mistakes), broken)


def _model(kind: type[Struct], declaration: Declaration, declared: Sequence[FieldModel]) -> EntityModel:
    # Responses have this order: the id first, the server's fields last.
    every = (ID, *declared, *_server_owned(declaration))
    return EntityModel(
        name=kind.__name__,
        plural=declaration.plural,
        table=declaration.plural.replace("-", "_"),
        struct=kind,
        declaration=declaration,
        fields=every,
        relations=_relations(declared, declaration),
        create_form=_create_form(kind, declared),
        update_form=_update_form(kind, declared),
        by_name={field.name: field for field in every},
        by_wire={field.wire.lower(): field for field in every},
    )


def _create_form(kind: type[Struct], declared: Sequence[FieldModel]) -> type[Struct]:
    infos = {info.name: info for info in fields(kind)}
    # Request bodies need a separate struct, because the declared struct accepts unknown fields and has no column
    # bounds.
    return defstruct(
        f"{kind.__name__}Create",
        [_required(field) if field.required else _optional(field, infos[field.name]) for field in declared],
        rename={field.name: field.wire for field in declared},
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _required(field: FieldModel) -> tuple[str, Any]:
    return (field.name, field.type)


def _optional(field: FieldModel, info: FieldInfo) -> tuple[str, Any, Any]:
    if info.default_factory is not msgspec.NODEFAULT:
        return (field.name, field.type, msgspec.field(default_factory=info.default_factory))
    return (field.name, field.type, info.default)


def _update_form(kind: type[Struct], declared: Sequence[FieldModel]) -> type[Struct]:
    return defstruct(
        f"{kind.__name__}Update",
        [(field.name, Union[field.type, UnsetType], UNSET) for field in declared],
        rename={field.name: field.wire for field in declared},
        kw_only=True,
        forbid_unknown_fields=True,
    )


_RESERVED_NAMES = frozenset({"deleted_with", *(field.name for field in SERVER_OWNED)})


def _server_owned(declaration: Declaration) -> list[FieldModel]:
    tenant = [TENANT] if declaration.shows_tenant else []
    if not declaration.writable:
        return tenant
    return [
        *tenant,
        *AUDIT,
        *(SOFT_DELETE if declaration.soft_delete else ()),
        VERSION,
    ]


def _relations(declared: Sequence[FieldModel], declaration: Declaration) -> dict[str, Relation]:
    source = declaration.plural
    to_one = [_to_one(source, field, field.reference) for field in declared if field.reference is not None]
    linked = [_linked(source, field, field.link) for field in declared if field.link is not None]
    to_many = [
        Relation(name=name, target=many.target, by=many.by, is_many=True, source=source)
        for name, many in declaration.has_many.items()
    ]
    return {relation.name: relation for relation in (*to_one, *linked, *to_many)}


def _to_one(source: str, field: FieldModel, reference: Reference) -> Relation:
    name = reference.relation or relation_name(field.wire, is_many=False)
    on_delete = reference.on_delete
    return Relation(
        name=name, target=reference.target, by=field.name, is_many=False, source=source, on_delete=on_delete
    )


def _linked(source: str, field: FieldModel, link: Links) -> Relation:
    return Relation(
        name=link.relation or relation_name(field.wire, is_many=True),
        target=link.target,
        by=field.name,
        is_many=True,
        source=source,
        is_link=True,
        on_delete=link.on_delete,
    )


def relation_name(wire: str, *, is_many: bool) -> str:
    """Return the default name of a field's relation: ``photo`` for ``photoId``, ``tags`` for ``tagIds``."""
    if is_many:
        return _plural(re.sub("(?:_ids|-ids|Ids)$", "", wire))
    return re.sub("(?:_id|-id|Id)$", "", wire)


def _plural(word: str) -> str:
    """Return the English plural: ``tags``, ``categories``, ``boxes``."""
    if re.search("[^aeiou]y$", word):
        return f"{word[:-1]}ies"
    return f"{word}es" if re.search("(?:s|x|z|ch|sh)$", word) else f"{word}s"
