"""Parses a declared field: annotation to type, column kind and markers, with all errors."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta
from msgspec.structs import FieldInfo

from domain.entities.attachments.marks import FILES, Attachment
from domain.entities.declaration import FieldModel
from domain.entities.kinds import BITS, KINDS, Kind
from domain.entities.markers import UNGUARDED, Big, Guard, HelpText, Label, Links, Money, Reference, Widget
from domain.entities.mistakes.arguments import reference_mistakes
from domain.entities.mistakes.attachments import attachment_mark_mistakes, attachment_mistakes
from domain.entities.mistakes.fields import (
    STORABLE,
    bound_mistakes,
    default_mistake,
    empty_range,
    is_storable,
    mark_mistakes,
)
from domain.entities.mistakes.links import link_mark_mistakes, link_mistakes
from domain.entities.mistakes.patterns import pattern_mistakes, whole_text
from domain.entities.mistakes.screens import choice_mistakes, screen_mark_mistakes
from domain.entities.screens.choices import Choices

M = TypeVar("M")

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


class _Unreadable(Exception):
    """Error of a field without a storable type; the message follows the field's name."""


def read_field(info: FieldInfo, hint: Any) -> tuple[FieldModel, list[str], bool]:
    """Read a field; return it, its errors, and whether it is a placeholder to check the rest of the entity."""
    try:
        bare, marks, nullable = _unwrap(hint)
        kind, bare, choices = _kind(bare, marks)
        default = _default(info)
    except _Unreadable as mistake:
        return _placeholder(info, hint), [str(mistake)], True
    rules = _rules(marks)
    mistakes = [*mark_mistakes(kind, marks), *screen_mark_mistakes(kind, marks), *_rule_mistakes(kind, rules)]
    mistakes += link_mark_mistakes(kind, marks, rules, default, nullable=nullable)
    mistakes += choice_mistakes(choices, marks)
    mistakes += attachment_mark_mistakes(kind, marks, rules, default, nullable=nullable)
    mistakes += [] if mistakes else _type_mistakes(kind, bare, marks)
    link = _link(marks)
    if link is not None:
        rules["max_length"] = link.limit
    # A field with bounds larger than its column gets the type Any too, because msgspec accepts only bounds of 64 bits.
    checked = Any if mistakes else _checked_type(kind, bare, rules, nullable)
    label, widget, looks = _mark(marks, Label), _mark(marks, Widget), _mark(marks, Choices)
    field = FieldModel(
        name=info.name,
        wire=info.encode_name,
        kind=kind,
        type=checked,
        nullable=nullable,
        default=default,
        choices=choices,
        choice_looks=looks.by_value if looks and not mistakes else {},
        money=_mark(marks, Money),
        reference=_reference(marks),
        link=link,
        attachment=_attachment(marks),
        guard=_mark(marks, Guard) or UNGUARDED,
        label=label.text if label else None,
        help_text=_rules(marks).get("description"),
        widget=widget.name if widget else None,
    )
    if not mistakes and (wrong := default_mistake(field)) is not None:
        mistakes.append(wrong)
    # A to-many relation through an unreadable reference gets no separate error.
    is_unread = field.target is None and any(isinstance(mark, Reference | Links | Attachment) for mark in marks)
    return field, mistakes, is_unread


def _default(info: FieldInfo) -> object:
    if info.default is not msgspec.NODEFAULT or info.required:
        return UNSET if info.required else info.default
    try:
        return info.default_factory()
    except Exception as error:  # noqa: BLE001  # the factory is a user's function
        raise _Unreadable(f"has a default_factory that fails: {type(error).__name__}: {error}") from None


def _placeholder(info: FieldInfo, hint: Any) -> FieldModel:
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    reference = _reference(marks)
    kind = Kind.TEXT if reference is None else Kind.UUID
    return FieldModel(
        name=info.name, wire=info.encode_name, kind=kind, type=Any, nullable=True, default=None, reference=reference
    )


def _type_mistakes(kind: Kind, bare: Any, marks: Sequence[object]) -> Iterator[str]:
    # Check the type now: otherwise msgspec would report an invalid type only at the first request.
    try:
        msgspec.json.Decoder(_checked_type(kind, bare, _rules(marks), nullable=False))
    except (TypeError, ValueError) as error:
        remedy = ": bounds of a decimal are money(…, ge=…, le=…)" if kind is Kind.DECIMAL else ""
        yield f"has a constraint that does not fit its type: {error}{remedy}"


def _unwrap(hint: Any) -> tuple[Any, list[object], bool]:
    """Return the type without its markers, the markers, and whether it accepts null.

    ``Annotated[UUID | None, ref("books")]`` gives ``(UUID, [Reference(…)], True)``.
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
                raise _Unreadable(f"has the type {hint}: only one type, or it and None, can be stored: {STORABLE}")
            hint, nullable = alternatives[0], True
        else:
            return hint, marks, nullable


def _mark(marks: Sequence[object], kind: type[M]) -> M | None:
    return next((mark for mark in marks if isinstance(mark, kind)), None)


def _attachment(marks: Sequence[object]) -> Attachment | None:
    found = _mark(marks, Attachment)
    return None if found is None or any(attachment_mistakes(found)) else found


def _reference(marks: Sequence[object]) -> Reference | None:
    if (attachment := _attachment(marks)) is not None:
        return Reference(FILES, "restrict") if attachment.limit is None else None
    reference = _mark(marks, Reference)
    return None if reference is None or any(reference_mistakes(reference)) else reference


def _link(marks: Sequence[object]) -> Links | None:
    if (attachment := _attachment(marks)) is not None:
        return Links(FILES, attachment.limit, "drop") if attachment.limit is not None else None
    link = _mark(marks, Links)
    return None if link is None or any(link_mistakes(link)) else link


def _kind(bare: Any, marks: Sequence[object]) -> tuple[Kind, Any, tuple[str, ...]]:
    """Kind, type for checks, and values of a choice."""
    if isinstance(bare, type) and issubclass(bare, Enum):
        return _choice(bare, [member.value for member in bare])
    if get_origin(bare) is Literal:
        return _choice(bare, get_args(bare))
    bare = _as_list(bare)
    kind = next((kind for kind, record in KINDS.items() if record.python == bare), None)
    if kind is None:
        raise _Unreadable(f"has the type {_type_name(bare)}, which cannot be stored: use {STORABLE}")
    if kind is Kind.DECIMAL and _mark(marks, Money) is None:
        raise _Unreadable("is a Decimal without money(precision, scale): use Annotated[Decimal, money(12, 2)]")
    if kind is Kind.INTEGER and _mark(marks, Big) is not None:
        kind = Kind.BIG_INTEGER
    if kind is Kind.UUIDS and any(isinstance(mark, Links | Attachment) for mark in marks):
        kind = Kind.LINKS
    return kind, bare, ()


def _as_list(bare: Any) -> Any:
    item, *more = get_args(bare) or (None,)
    return list[item] if get_origin(bare) is tuple and more == [...] else bare  # type: ignore[valid-type]


def _type_name(bare: Any) -> str:
    return bare.__qualname__ if isinstance(bare, type) and not get_args(bare) else str(bare)


def _choice(bare: Any, values: Sequence[object]) -> tuple[Kind, Any, tuple[str, ...]]:
    if not values:
        raise _Unreadable("is a choice without values: no value could be stored")
    if not all(isinstance(value, str) for value in values):
        raise _Unreadable("is a choice whose values are not text")
    if not all(map(is_storable, values)):
        raise _Unreadable("is a choice with a value that PostgreSQL cannot store")
    return Kind.CHOICE, bare, tuple(str(value) for value in values)


def _rules(marks: Sequence[object]) -> dict[str, Any]:
    rules: dict[str, Any] = {}
    for mark in marks:
        if isinstance(mark, Meta):
            rules |= {name: getattr(mark, name) for name in _CONSTRAINTS if getattr(mark, name) is not None}
    if (text := _mark(marks, HelpText)) is not None:
        rules["description"] = text.text
    return rules


def _rule_mistakes(kind: Kind, rules: Mapping[str, Any]) -> Iterator[str]:
    yield from bound_mistakes(kind, rules) if kind in BITS else empty_range(rules)
    if {"gt", "ge"} <= rules.keys() or {"lt", "le"} <= rules.keys():
        yield "has two bounds of one side: give either gt or ge, and either lt or le"
    if "pattern" in rules:
        yield from pattern_mistakes(rules["pattern"], rules.get("max_length"))


def _checked_type(kind: Kind, bare: Any, rules: dict[str, Any], nullable: bool) -> Any:
    # Without the column's bounds PostgreSQL would refuse the number without a field error.
    if kind in BITS:
        rules |= _column_bounds(rules, BITS[kind])
    if kind is Kind.TIMESTAMP:
        rules["tz"] = True
    if "pattern" in rules:
        rules["pattern"] = whole_text(rules["pattern"])
    checked = Annotated[bare, Meta(**rules)] if rules else bare
    return Union[checked, None] if nullable else checked


def _column_bounds(rules: dict[str, Any], bits: int) -> dict[str, int]:
    lower = {} if {"gt", "ge"} & rules.keys() else {"ge": -(2**bits)}
    upper = {} if {"lt", "le"} & rules.keys() else {"le": 2**bits - 1}
    return lower | upper
