"""From declared structs to models, with one readable report of everything that is wrong with them."""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, defstruct
from msgspec.structs import FieldInfo, fields

from domain.entities.declaration import (
    UNGUARDED,
    Big,
    Declaration,
    EntityModel,
    FieldModel,
    Guard,
    Kind,
    Money,
    Reference,
    Registry,
    Relation,
)
from domain.entities.mistakes import clashes, mistakes_of, oddities

M = TypeVar("M")

_BITS = {Kind.INTEGER: 31, Kind.BIG_INTEGER: 63}
_CONSTRAINTS = (
    "gt",
    "ge",
    "lt",
    "le",
    "multiple_of",
    "pattern",
    "min_length",
    "max_length",
    "description",
    "examples",
)
_KINDS = {
    str: Kind.TEXT,
    int: Kind.INTEGER,
    Decimal: Kind.DECIMAL,
    float: Kind.FLOAT,
    bool: Kind.BOOLEAN,
    datetime: Kind.TIMESTAMP,
    date: Kind.DATE,
    UUID: Kind.UUID,
}


class DeclarationError(Exception):
    """The registry cannot be served; the message lists every mistake, one a line."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("The entity declarations cannot be served:\n" + "\n".join(f"  - {one}" for one in mistakes))


class _Mistake(Exception):
    pass


def build_registry(kinds: Iterable[type[Struct]]) -> Registry:
    """Raises DeclarationError with all mistakes of all entities at once."""
    models: list[EntityModel] = []
    mistakes: list[str] = []
    for kind in kinds:
        try:
            models.append(read_entity(kind))
        except _Mistake as mistake:
            mistakes.append(f"{kind.__name__}: {mistake}")
    mistakes += clashes(models)
    registry = Registry({model.plural: model for model in models}, tuple(oddities(models)))
    mistakes += [f"{model.name}: {text}" for model in models for text in mistakes_of(model, registry, _OWNED)]
    if mistakes:
        raise DeclarationError(mistakes)
    return registry


def read_entity(kind: type[Struct]) -> EntityModel:
    declaration: Declaration | None = getattr(kind, "__entity__", None)
    if declaration is None:
        raise _Mistake("is listed as an entity but carries no @entity(...)")
    hints = get_type_hints(kind, include_extras=True)
    declared = [_read_field(info, hints[info.name]) for info in fields(kind)]
    every = (_ID, *declared, *_server_owned(declaration))
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
        by_name={one.name: one for one in every},
        by_wire={one.wire.lower(): one for one in every},
    )


def _read_field(info: FieldInfo, hint: Any) -> FieldModel:
    try:
        bare, marks, nullable = _unwrap(hint)
        kind, bare, choices = _kind(bare, marks)
    except _Mistake as mistake:
        raise _Mistake(f"field {info.name!r} {mistake}") from None
    default = info.default_factory() if info.default is msgspec.NODEFAULT and not info.required else info.default
    return FieldModel(
        name=info.name,
        wire=info.encode_name,
        kind=kind,
        type=_checked_type(kind, bare, marks, nullable),
        nullable=nullable,
        default=UNSET if info.required else default,
        choices=choices,
        money=_mark(marks, Money),
        reference=_mark(marks, Reference),
        guard=_mark(marks, Guard) or UNGUARDED,
    )


def _unwrap(hint: Any) -> tuple[Any, list[object], bool]:
    """Annotated and None, in any nesting → the bare type, all marks, whether it may be null."""
    marks: list[object] = []
    nullable = False
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            marks += more
        elif get_origin(hint) in (Union, UnionType):
            alternatives = [one for one in get_args(hint) if one is not NoneType]
            if len(alternatives) != 1 or nullable:
                raise _Mistake(f"has the type {hint}: only one type, or it and None, can be stored")
            hint, nullable = alternatives[0], True
        else:
            return hint, marks, nullable


def _mark(marks: Sequence[object], kind: type[M]) -> M | None:
    return next((mark for mark in marks if isinstance(mark, kind)), None)


def _kind(bare: Any, marks: Sequence[object]) -> tuple[Kind, Any, tuple[str, ...]]:
    """What it holds, the type to check it by, and, for a choice, its values."""
    if isinstance(bare, type) and issubclass(bare, Enum):
        return _choice(bare, [one.value for one in bare])
    if get_origin(bare) is Literal:
        return _choice(bare, get_args(bare))
    if get_origin(bare) in (list, tuple) and get_args(bare)[0] in (UUID, str):
        item = get_args(bare)[0]
        return (Kind.UUIDS if item is UUID else Kind.TEXTS), list[item], ()  # type: ignore[valid-type]
    if bare not in _KINDS:
        raise _Mistake(f"has the type {bare}, which cannot be stored")
    kind = _KINDS[bare]
    if kind is Kind.DECIMAL and _mark(marks, Money) is None:
        raise _Mistake("is a Decimal without money(precision, scale)")
    if kind is Kind.INTEGER and _mark(marks, Big) is not None:
        kind = Kind.BIG_INTEGER
    return kind, bare, ()


def _choice(bare: Any, values: Sequence[object]) -> tuple[Kind, Any, tuple[str, ...]]:
    if not all(isinstance(value, str) for value in values):
        raise _Mistake("is a choice of something else than text")
    return Kind.CHOICE, bare, tuple(str(value) for value in values)


def _checked_type(kind: Kind, bare: Any, marks: Sequence[object], nullable: bool) -> Any:
    """The type as msgspec checks it, with the bounds that the column has anyway."""
    rules: dict[str, Any] = {}
    for mark in marks:
        if isinstance(mark, Meta):
            rules |= {name: getattr(mark, name) for name in _CONSTRAINTS if getattr(mark, name) is not None}
    if kind in _BITS:
        rules |= _column_bounds(rules, _BITS[kind])
    if kind is Kind.TIMESTAMP:
        rules["tz"] = True
    if "pattern" in rules:
        rules["pattern"] = _whole(rules["pattern"])
    checked = Annotated[bare, Meta(**rules)] if rules else bare
    return Union[checked, None] if nullable else checked


def _column_bounds(rules: dict[str, Any], bits: int) -> dict[str, int]:
    lower = {} if {"gt", "ge"} & rules.keys() else {"ge": -(2**bits)}
    upper = {} if {"lt", "le"} & rules.keys() else {"le": 2**bits - 1}
    return lower | upper


def _whole(pattern: str) -> str:
    """Python's ``$`` also matches before a closing line feed; what a declaration means is the end."""
    return re.sub(r"(?<!\\)\$$", r"\\Z", pattern)


def _create_form(kind: type[Struct], declared: Sequence[FieldModel]) -> type[Struct]:
    infos = {info.name: info for info in fields(kind)}
    return defstruct(
        f"{kind.__name__}Create",
        [_required(one) if one.required else _optional(one, infos[one.name]) for one in declared],
        rename={one.name: one.wire for one in declared},
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _required(one: FieldModel) -> tuple[str, Any]:
    return (one.name, one.type)


def _optional(one: FieldModel, info: FieldInfo) -> tuple[str, Any, Any]:
    if info.default_factory is not msgspec.NODEFAULT:
        return (one.name, one.type, msgspec.field(default_factory=info.default_factory))
    return (one.name, one.type, info.default)


def _update_form(kind: type[Struct], declared: Sequence[FieldModel]) -> type[Struct]:
    return defstruct(
        f"{kind.__name__}Update",
        [(one.name, Union[one.type, UnsetType], UNSET) for one in declared],
        rename={one.name: one.wire for one in declared},
        kw_only=True,
        forbid_unknown_fields=True,
    )


def _server_field(name: str, wire: str, kind: Kind, checked: object, nullable: bool = False) -> FieldModel:
    return FieldModel(name=name, wire=wire, kind=kind, type=checked, nullable=nullable, server_owned=True)


_TIME = Annotated[datetime, Meta(tz=True)]
_ID = _server_field("id", "id", Kind.UUID, UUID)
_TENANT = _server_field("tenant_id", "tenantId", Kind.UUID, UUID)
_AUDIT = (
    _server_field("created_at", "createdAt", Kind.TIMESTAMP, _TIME),
    _server_field("updated_at", "updatedAt", Kind.TIMESTAMP, _TIME),
    _server_field("created_by", "createdBy", Kind.UUID, UUID | None, nullable=True),
    _server_field("updated_by", "updatedBy", Kind.UUID, UUID | None, nullable=True),
)
_SOFT_DELETE = (
    _server_field("is_deleted", "isDeleted", Kind.BOOLEAN, bool),
    _server_field("deleted_at", "deletedAt", Kind.TIMESTAMP, Union[_TIME, None], nullable=True),
    _server_field("deleted_by", "deletedBy", Kind.UUID, UUID | None, nullable=True),
)
_VERSION = _server_field("version", "version", Kind.INTEGER, int)
SERVER_OWNED = (_ID, _TENANT, *_AUDIT, *_SOFT_DELETE, _VERSION)
"""What a body may carry and the service ignores, whatever the entity."""
_OWNED = frozenset({"deleted_with", *(one.name for one in SERVER_OWNED)})


def _server_owned(declaration: Declaration) -> list[FieldModel]:
    tenant = [_TENANT] if declaration.shows_tenant else []
    if not declaration.writable:
        return tenant
    return [*tenant, *_AUDIT, *(_SOFT_DELETE if declaration.soft_delete else ()), _VERSION]


def _relations(declared: Sequence[FieldModel], declaration: Declaration) -> dict[str, Relation]:
    to_one = [_to_one(one, one.reference) for one in declared if one.reference is not None]
    to_many = [
        Relation(name=name, target=many.target, by=many.by, is_many=True) for name, many in declaration.has_many.items()
    ]
    return {relation.name: relation for relation in (*to_one, *to_many)}


def _to_one(one: FieldModel, reference: Reference) -> Relation:
    name = reference.relation or one.wire.removesuffix("Id")
    return Relation(name=name, target=reference.target, by=one.name, is_many=False, on_delete=reference.on_delete)
