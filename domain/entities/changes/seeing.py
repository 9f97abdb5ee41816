"""What a reader sees of an entry: nothing, or an event with the row as the reader may read it."""

from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from domain.entities.declaration import SOFT_DELETE, VERSION, EntityModel, FieldModel
from domain.entities.kinds import Kind
from domain.entities.markers import Mine
from domain.entities.query.matching import holds
from domain.entities.query.query import Condition

EventAction = Literal[
    "created", "changed", "deleted", "restored", "purged", "entered", "left", "joined", "accepted", "disabled"
]
RowAction = Literal["changed", "deleted", "restored"]
"""Actions of entries with a row before and after them."""
WITHOUT_ROW = frozenset({"deleted", "purged", "left"})
"""Actions whose events have no row."""

Members = Mapping[str, Raw]
"""A row as JSON values by JSON name."""
IsOwn = Callable[[Members], bool]
"""Whether a rule on other rows, or a share, makes the row the reader's own."""

_TYPES: Mapping[Kind, Any] = {
    Kind.TEXT: str,
    Kind.CHOICE: str,
    Kind.INTEGER: int,
    Kind.BIG_INTEGER: int,
    Kind.DECIMAL: Decimal,
    Kind.FLOAT: float,
    Kind.BOOLEAN: bool,
    Kind.TIMESTAMP: datetime,
    Kind.DATE: date,
    Kind.UUID: UUID,
    Kind.UUIDS: list[UUID],
    Kind.TEXTS: list[str],
    Kind.LINKS: list[UUID],
}


IS_DELETED = SOFT_DELETE[0]
_LIVE: Members = {field.wire: Raw(b"false" if field is IS_DELETED else b"null") for field in SOFT_DELETE}


class Interest(Struct, frozen=True, kw_only=True, cache_hash=True):
    """The rows of one entity that a reader follows.

    ``hidden`` are the JSON names of fields that the reader may not read, ``where`` the filters. With ``own_of`` the
    reader sees only own rows: those of this user. Without ``with_deleted`` the reader follows live rows, as in a list.
    """

    model: EntityModel
    hidden: frozenset[str] = frozenset()
    where: tuple[Condition, ...] = ()
    own_of: UUID | None = None
    with_deleted: bool = False


class SeenChange(Struct, frozen=True):
    """An event: its action, the names of changed fields, and the row; without a row, ``truncated`` says to read it."""

    action: EventAction
    changed: tuple[str, ...] = ()
    data: Raw | None = None
    truncated: bool = False


def members_of(raw: Raw | None) -> Members:
    return {} if raw is None else msgspec.json.decode(raw, type=dict[str, Raw])


def value_of(field: FieldModel, members: Members) -> object:
    """Return the value of a member in the field's Python type."""
    raw = members.get(field.wire)
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=_TYPES[field.kind] | None)
    except msgspec.ValidationError:
        return msgspec.json.decode(raw)  # such as a number that is no number


def seen_change(
    interest: Interest, action: RowAction, after: Members, was: Members, is_own: IsOwn
) -> SeenChange | None:
    """Return the event of a row with the former values ``was``; None if the reader saw it neither before nor after."""
    before = _before(action, after, was)
    had, has = (is_followed(interest, row, is_own) for row in (before, after))
    if not ((had and _is_shown(interest, before)) or (has and _is_shown(interest, after))):
        return None
    if not has:
        return SeenChange("left")
    if not had:
        # The names of changed fields would reveal the row before it became visible.
        return SeenChange("entered", (), shown(interest, after))
    names = changed_fields(interest.model, was, interest.hidden) if action == "changed" else ()
    return SeenChange(action, names, None if action in WITHOUT_ROW else shown(interest, after))


def changed_fields(model: EntityModel, was: Members, hidden: Collection[str]) -> tuple[str, ...]:
    """Return the JSON names of the declared fields with a former value, except hidden ones."""
    return tuple(name for name in was if name not in hidden and not model.by_wire[name.lower()].server_owned)


def _before(action: RowAction, after: Members, was: Members) -> Members:
    """Return the row before the write, with the values that each such write sets."""
    before = {**after, **was}
    if (version := value_of(VERSION, after)) is not None:
        assert isinstance(version, int)
        before[VERSION.wire] = Raw(b"%d" % (version - 1))
    if action == "deleted":
        before |= _LIVE
    elif action == "restored":
        before[IS_DELETED.wire] = Raw(b"true")
    return before


def _is_shown(interest: Interest, row: Members) -> bool:
    return interest.with_deleted or value_of(IS_DELETED, row) is not True


def is_followed(interest: Interest, row: Members, is_own: IsOwn) -> bool:
    """Return whether the reader may see the row, and its filters hold."""
    if interest.own_of is not None and not (_is_mine(interest, row) or is_own(row)):
        return False
    # Decode only the members that a filter needs.
    names = {condition.path.field for condition in interest.where}
    values = {name: value_of(interest.model.by_name[name], row) for name in names}
    return all(holds(interest.model, values, condition) for condition in interest.where)


def _is_mine(interest: Interest, row: Members) -> bool:
    rules = (rule for rule in interest.model.declaration.own if isinstance(rule, Mine))
    return any(value_of(interest.model.by_name[rule.field], row) == interest.own_of for rule in rules)


def shown(interest: Interest, row: Members) -> Raw:
    """Return the row without hidden fields."""
    # Members stay undecoded: a row is encoded with the bytes that PostgreSQL wrote.
    return Raw(msgspec.json.encode({name: value for name, value in row.items() if name not in interest.hidden}))
