"""Bodies of single and multiple rows, and the fields that a caller may send."""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import TypeVar, cast
from uuid import UUID

import msgspec
from msgspec import Struct

from domain.entities.declaration import EntityModel
from domain.entities.exact_values import as_column, whole_number
from domain.entities.forms import read_changes, read_new, strangers
from domain.errors import MOST_ERRORS, FieldError, Forbidden, ValidationError, unknown_name
from domain.forms import uuid_of
from domain.scope import allows

MOST_ITEMS = 1_000
NOT_WRITABLE = "must not be sent: you lack the permission to write this field"

_VERSIONS_END = 2**31
_NO_VERSION = 0  # marks an invalid value; versions begin at 1

R = TypeVar("R")

Body = Mapping[str, object]
Values = dict[str, object]


class FieldAccess(Struct, frozen=True):
    """Restrictions of a caller, by wire name.

    ``unknown`` fields do not exist for the caller; ``closed`` fields can be read but not written. ``unseen`` are the
    hidden members of answers with related rows: ``boss`` and ``reportsHasMore``.
    """

    unknown: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.unknown or self.closed or self.unseen)


EVERY_FIELD = FieldAccess()


class SentChanges(Struct, frozen=True):
    """Changes of a row as the client sent them, by Python name.

    ``kept`` are values of closed fields. The service accepts them if they equal the stored values.
    """

    values: Values
    kept: Values = {}


class Item(Struct, frozen=True):
    """A change of one of several rows; ``version`` is the one that the caller saw, None for any."""

    id: UUID
    sent: SentChanges
    version: int | None = None


def field_access(model: EntityModel, permissions: Iterable[str]) -> FieldAccess:
    """Return the restrictions of a caller with these permissions.

    A field with a write permission can be sent by its holders, any other field by callers who can read it.
    """
    guards = _guards(model)
    if not guards:
        return EVERY_FIELD
    held = tuple(permissions)
    unseen = {wire for wire, read, _ in guards if read is not None and not allows(held, read)}
    barred = {wire for wire, _, write in guards if write is not None and not allows(held, write)}
    opened = {wire for wire, _, write in guards if write is not None and wire not in barred}
    return FieldAccess(frozenset(unseen - opened), frozenset(barred - unseen))


@lru_cache(maxsize=1024)
def _guards(model: EntityModel) -> tuple[tuple[str, str | None, str | None], ...]:
    return tuple(
        (field.wire, field.guard.read, field.guard.write)
        for field in model.declared
        if field.guard.read or field.guard.write
    )


def read_new_from(model: EntityModel, body: Body, may: FieldAccess) -> Values:
    """Read a new row's values from a body.

    Raises Forbidden for closed fields, including a missing required one, otherwise ValidationError.
    """
    return _read(model, body, may, read_new)


def read_changes_from(model: EntityModel, body: Body, may: FieldAccess) -> SentChanges:
    """Read a row's changed values from a body.

    Raises Forbidden for a closed field with a value that cannot be stored, else ValidationError.
    """
    if not (closed := may.closed & body.keys()):
        return SentChanges(_read(model, body, may, read_changes))
    rest = {name: value for name, value in body.items() if name not in closed}
    try:
        kept = read_changes(model, {name: body[name] for name in closed})
    except ValidationError:
        kept = _as_stored(model, {name: body[name] for name in sorted(closed)})
    return SentChanges(_read(model, rest, may, read_changes), kept)


def _as_stored(model: EntityModel, sent: Body) -> Values:
    """Values of closed fields. Accepts invalid values, because an earlier declaration may have allowed them."""
    kept: Values = {}
    for name, value in sent.items():
        try:
            kept |= read_changes(model, {name: value})
        except ValidationError:
            field = model.by_wire[name.lower()]
            try:
                kept[field.name] = as_column(field, value)
            except msgspec.ValidationError:
                raise Forbidden(fields=[FieldError(wire, NOT_WRITABLE) for wire in sent]) from None
    return kept


def _read(model: EntityModel, body: Body, may: FieldAccess, read: Callable[[EntityModel, Body], Values]) -> Values:
    if not may:
        return read(model, body)
    if closed := sorted(may.closed & body.keys()):
        raise Forbidden(fields=[FieldError(name, NOT_WRITABLE) for name in closed])
    known = [field.wire for field in model.declared if field.wire not in may.unknown]
    names = dict.fromkeys(strangers(model, body, known, may.unseen))
    unknown = [FieldError(name, unknown_name(name, known)) for name in islice(names, MOST_ERRORS + 1)]
    errors: list[FieldError] = []
    values: Values = {}
    try:
        values = read(model, {name: body[name] for name in body if name not in names})
    except ValidationError as error:
        errors = [wrong for wrong in error.fields if not wrong.is_about(may.unknown | may.closed)]
        # Security: an error about a field that the caller cannot send would reveal that the field exists.
        if not errors and not unknown:
            raise Forbidden from None
    if errors or unknown:
        raise ValidationError(fields=[*errors, *unknown])
    return values


def read_items(body: Body, read: Callable[[Body], R]) -> list[R]:
    """Read each item of ``{"items": […]}``; every invalid field is named, as ``items[3].price``."""
    return _each(*_objects(body), read)


def read_changed_items(body: Body, read: Callable[[Body], SentChanges]) -> list[Item]:
    """Read the changes of each item of ``{"items": [{"id": …, "version": …, …}]}``.

    Raises ValidationError, also for a repeated id.
    """
    items, errors = _objects(body)
    errors += [FieldError(f"items[{n}].id", "is required") for n, item in items if "id" not in item]
    errors += [
        FieldError(f"items[{n}].id", "must be an id (UUID)")
        for n, item in items
        if "id" in item and not isinstance(item["id"], str)
    ]
    ids = {n: _id(item.get("id"), n) for n, item in items}
    seen: dict[UUID, int] = {}
    for n, row_id in ids.items():
        if seen.setdefault(row_id, n) != n:
            errors.append(FieldError(f"items[{n}].id", f"is the id of items[{seen[row_id]}] too"))
    versions = {n: _version(item.get("version")) for n, item in items}
    errors += [
        FieldError(f"items[{n}].version", "must be the version that was read: a whole number from 1, or null")
        for n, version in versions.items()
        if version == _NO_VERSION
    ]
    sent = _each(items, errors, read)
    return [Item(*parts) for parts in zip(ids.values(), sent, versions.values(), strict=True)]


def _version(value: object) -> int | None:
    number = whole_number(value) if isinstance(value, Decimal) else value
    if number is None:
        return None
    is_version = isinstance(number, int) and not isinstance(number, bool) and 1 <= number < _VERSIONS_END
    return cast(int, number) if is_version else _NO_VERSION


def read_ids(body: Body) -> list[UUID]:
    """Read the ids of ``{"ids": […]}``, at most 1,000."""
    given, errors = _list(body, "ids")
    errors += [
        FieldError(f"ids[{n}]", "must be an id (UUID)") for n, row_id in enumerate(given) if not isinstance(row_id, str)
    ]
    if errors:
        raise ValidationError(fields=errors)
    return [_id(row_id, n) for n, row_id in enumerate(given)]


def _each(items: Iterable[tuple[int, Body]], errors: Iterable[FieldError], read: Callable[[Body], R]) -> list[R]:
    """Return the read items if all are valid and ``errors`` is empty."""
    values: list[R] = []
    wrong, forbidden = list(errors), list[FieldError]()
    for n, item in items:
        # An answer lists no more errors, so stop reading.
        if len(wrong) + len(forbidden) > MOST_ERRORS:
            break
        try:
            values.append(read(item))
        except ValidationError as error:
            wrong += [FieldError(f"items[{n}].{field.field}", field.message) for field in error.fields]
        except Forbidden as error:
            forbidden += [FieldError(f"items[{n}].{field.field}", field.message) for field in error.fields] or [
                FieldError(f"items[{n}]", error.message)
            ]
    # Forbidden goes before invalid, as for a single row.
    if forbidden:
        raise Forbidden(fields=forbidden)
    if wrong:
        raise ValidationError(fields=wrong)
    return values


def _objects(body: Body) -> tuple[list[tuple[int, Body]], list[FieldError]]:
    given, errors = _list(body, "items")
    errors += [
        FieldError(f"items[{n}]", "must be an object") for n, item in enumerate(given) if not isinstance(item, dict)
    ]
    return [(n, item) for n, item in enumerate(given) if isinstance(item, dict)], errors


def _list(body: Body, name: str) -> tuple[list[object], list[FieldError]]:
    """The list ``name``, and errors of other names. Raises ValidationError without such a list."""
    others = islice((other for other in body if other != name), MOST_ERRORS + 1)
    errors = [FieldError(other, unknown_name(other, [name])) for other in others]
    given = body.get(name)
    if isinstance(given, list) and 1 <= len(given) <= MOST_ITEMS:
        return given, errors
    if not isinstance(given, list):
        wrong = "is required" if name not in body else "must be a list"
    else:
        wrong = f"may hold at most {MOST_ITEMS:,} entries" if given else "must hold at least one entry"
    raise ValidationError(fields=[*errors, FieldError(name, wrong)])


def _id(text: object, n: int) -> UUID:
    # A malformed id names no row. Give each an unused id, so that two do not count as repeated.
    found = uuid_of(text) if isinstance(text, str) else None
    return UUID(int=n) if found is None else found
