"""Reads declared structs into models, and reports every mistake in the declarations at once."""

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

from domain.entities import server_fields
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
from domain.entities.mistakes import duplicates, mistakes_of, oddities

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
    """The declarations cannot be served; the message lists every mistake, one per line."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__(
            "The entity declarations cannot be served:\n" + "\n".join(f"  - {mistake}" for mistake in mistakes)
        )


class _Mistake(Exception):
    pass


def build_registry(kinds: Iterable[type[Struct]]) -> Registry:
    """The registry of the declared structs. Raises DeclarationError with all mistakes of all entities."""
    models: list[EntityModel] = []
    mistakes: list[str] = []
    for kind in kinds:
        try:
            models.append(read_entity(kind))
        except _Mistake as mistake:
            mistakes.append(f"{kind.__name__}: {mistake}")
    # Checked even where an entity could not be read: one start reports everything that is wrong.
    mistakes += duplicates(models)
    registry = Registry({model.plural: model for model in models}, tuple(oddities(models)))
    mistakes += [f"{model.name}: {text}" for model in models for text in mistakes_of(model, registry, _RESERVED_NAMES)]
    if mistakes:
        raise DeclarationError(mistakes)
    return registry


def read_entity(kind: type[Struct]) -> EntityModel:
    """The model of one declared struct, not yet checked against the other entities."""
    declaration: Declaration | None = getattr(kind, "__entity__", None)
    if declaration is None:
        raise _Mistake("is listed as an entity but has no decorator @entity(...)")
    hints = get_type_hints(kind, include_extras=True)
    declared = [_read_field(info, hints[info.name]) for info in fields(kind)]
    # The order of a response: the id first, the server's own fields last.
    every = (server_fields.ID, *declared, *_server_owned(declaration))
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
    """Splits an annotation into its bare type, all marks, and whether it may be null.

    Example: ``Annotated[UUID | None, ref("books")]`` gives ``(UUID, [Reference(…)], True)``.
    """
    marks: list[object] = []
    nullable = False
    while True:
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            marks += more
        elif get_origin(hint) in (Union, UnionType):
            alternatives = [alternative for alternative in get_args(hint) if alternative is not NoneType]
            if len(alternatives) != 1 or nullable:
                raise _Mistake(f"has the type {hint}: only one type, or it and None, can be stored")
            hint, nullable = alternatives[0], True
        else:
            return hint, marks, nullable


def _mark(marks: Sequence[object], kind: type[M]) -> M | None:
    return next((mark for mark in marks if isinstance(mark, kind)), None)


def _kind(bare: Any, marks: Sequence[object]) -> tuple[Kind, Any, tuple[str, ...]]:
    """The kind of the field, the type that values are checked against, and the values of a choice."""
    if isinstance(bare, type) and issubclass(bare, Enum):
        return _choice(bare, [member.value for member in bare])
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
        raise _Mistake("is a choice whose values are not text")
    return Kind.CHOICE, bare, tuple(str(value) for value in values)


def _checked_type(kind: Kind, bare: Any, marks: Sequence[object], nullable: bool) -> Any:
    rules: dict[str, Any] = {}
    for mark in marks:
        if isinstance(mark, Meta):
            rules |= {name: getattr(mark, name) for name in _CONSTRAINTS if getattr(mark, name) is not None}
    # Without the column's own bounds PostgreSQL would refuse the number, and the client would get no field error.
    if kind in _BITS:
        rules |= _column_bounds(rules, _BITS[kind])
    if kind is Kind.TIMESTAMP:
        rules["tz"] = True
    if "pattern" in rules:
        rules["pattern"] = _anchored(rules["pattern"])
    checked = Annotated[bare, Meta(**rules)] if rules else bare
    return Union[checked, None] if nullable else checked


def _column_bounds(rules: dict[str, Any], bits: int) -> dict[str, int]:
    lower = {} if {"gt", "ge"} & rules.keys() else {"ge": -(2**bits)}
    upper = {} if {"lt", "le"} & rules.keys() else {"le": 2**bits - 1}
    return lower | upper


def _anchored(pattern: str) -> str:
    # Python's ``$`` also matches before a final line feed, ``\Z`` only at the end.
    return re.sub(r"(?<!\\)\$$", r"\\Z", pattern)


def _create_form(kind: type[Struct], declared: Sequence[FieldModel]) -> type[Struct]:
    infos = {info.name: info for info in fields(kind)}
    # The struct of the declaration is not used for bodies itself: it takes unknown fields and has no column bounds.
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


_RESERVED_NAMES = frozenset({"deleted_with", *(field.name for field in server_fields.SERVER_OWNED)})


def _server_owned(declaration: Declaration) -> list[FieldModel]:
    tenant = [server_fields.TENANT] if declaration.shows_tenant else []
    if not declaration.writable:
        return tenant
    return [
        *tenant,
        *server_fields.AUDIT,
        *(server_fields.SOFT_DELETE if declaration.soft_delete else ()),
        server_fields.VERSION,
    ]


def _relations(declared: Sequence[FieldModel], declaration: Declaration) -> dict[str, Relation]:
    to_one = [_to_one(field, field.reference) for field in declared if field.reference is not None]
    to_many = [
        Relation(name=name, target=many.target, by=many.by, is_many=True) for name, many in declaration.has_many.items()
    ]
    return {relation.name: relation for relation in (*to_one, *to_many)}


def _to_one(field: FieldModel, reference: Reference) -> Relation:
    name = reference.relation or field.wire.removesuffix("Id")
    return Relation(name=name, target=reference.target, by=field.name, is_many=False, on_delete=reference.on_delete)
