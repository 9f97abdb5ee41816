"""What a caller may send of an entity: bodies of one row or of many, and fields that are not for everybody."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from uuid import UUID

from msgspec import Struct

from domain.entities.declaration import EntityModel
from domain.entities.forms import read_changes, read_new, strangers
from domain.errors import FieldError, Forbidden, ValidationError, unknown_name
from domain.identity.permissions import allows

MOST_ITEMS = 1_000
NOT_THEIRS = "is not yours to write"

Body = Mapping[str, object]
Values = dict[str, object]


class Sendable(Struct, frozen=True):
    """By wire name: ``unknown`` fields do not exist for the caller, ``closed`` ones they may read but not write."""

    unknown: frozenset[str] = frozenset()
    closed: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.unknown or self.closed)


EVERYTHING = Sendable()


class Item(Struct, frozen=True):
    """One of many changes."""

    id: UUID
    values: Values


def sendable(model: EntityModel, permissions: Iterable[str]) -> Sendable:
    """A field with a write permission of its own is for its holders, others for those who see them."""
    guards = _guards(model)
    if not guards:
        return EVERYTHING
    held = tuple(permissions)
    unseen = {wire for wire, read, _ in guards if read is not None and not allows(held, read)}
    barred = {wire for wire, _, write in guards if write is not None and not allows(held, write)}
    opened = {wire for wire, _, write in guards if write is not None and wire not in barred}
    return Sendable(frozenset(unseen - opened), frozenset(barred - unseen))


@lru_cache(maxsize=1024)
def _guards(model: EntityModel) -> tuple[tuple[str, str | None, str | None], ...]:
    return tuple(
        (one.wire, one.guard.read, one.guard.write) for one in model.declared if one.guard.read or one.guard.write
    )


def read_new_from(model: EntityModel, body: Body, may: Sendable) -> Values:
    """Raises Forbidden, too, where a field that is not theirs would have to be sent."""
    return _read(model, body, may, read_new)


def read_changes_from(model: EntityModel, body: Body, may: Sendable) -> Values:
    return _read(model, body, may, read_changes)


def _read(model: EntityModel, body: Body, may: Sendable, read: Callable[[EntityModel, Body], Values]) -> Values:
    if not may:
        return read(model, body)
    if closed := sorted(may.closed & body.keys()):
        raise Forbidden(fields=[FieldError(name, NOT_THEIRS) for name in closed])
    known = [one.wire for one in model.declared if one.wire not in may.unknown]
    unknown = list(strangers(model, body, known))
    errors: list[FieldError] = []
    values: Values = {}
    try:
        values = read(model, {name: body[name] for name in body if name not in {one.field for one in unknown}})
    except ValidationError as error:
        errors = [one for one in error.fields if one.field not in may.unknown | may.closed]
        if not errors and not unknown:
            raise Forbidden from None
    if errors or unknown:
        raise ValidationError(fields=[*errors, *unknown])
    return values


def read_items(body: Body, read: Callable[[Body], Values]) -> list[Values]:
    """Every failing field of every item at once, as ``items[3].price``."""
    return _each(_objects(body), read)


def read_changed_items(body: Body, read: Callable[[Body], Values]) -> list[Item]:
    """Each carries its ``id`` and what changes; the same id twice is refused."""
    items = _objects(body)
    errors = [FieldError(f"items[{n}].id", "is required") for n, item in enumerate(items) if "id" not in item]
    errors += [
        FieldError(f"items[{n}].id", "must be an id (UUID)")
        for n, item in enumerate(items)
        if "id" in item and not isinstance(item["id"], str)
    ]
    ids = [_id(item.get("id"), n) for n, item in enumerate(items)]
    seen: dict[UUID, int] = {}
    for n, one in enumerate(ids):
        if seen.setdefault(one, n) != n:
            errors.append(FieldError(f"items[{n}].id", f"is the id of items[{seen[one]}] too"))
    values = _each(items, read, errors)
    return [Item(*pair) for pair in zip(ids, values, strict=True)]


def read_ids(body: Body) -> list[UUID]:
    given = _list(body, "ids")
    errors = [
        FieldError(f"ids[{n}]", "must be an id (UUID)") for n, one in enumerate(given) if not isinstance(one, str)
    ]
    if errors:
        raise ValidationError(fields=errors)
    return [_id(one, n) for n, one in enumerate(given)]


def _each(items: list[Body], read: Callable[[Body], Values], errors: Iterable[FieldError] = ()) -> list[Values]:
    """Whose fields they may not write is told before what is wrong with the others."""
    values: list[Values] = []
    wrong, forbidden = list(errors), list[FieldError]()
    for n, item in enumerate(items):
        try:
            values.append(read(item))
        except ValidationError as error:
            wrong += [FieldError(f"items[{n}].{one.field}", one.message) for one in error.fields]
        except Forbidden as error:
            forbidden += [FieldError(f"items[{n}].{one.field}", one.message) for one in error.fields] or [
                FieldError(f"items[{n}]", error.message)
            ]
    if forbidden:
        raise Forbidden(fields=forbidden)
    if wrong:
        raise ValidationError(fields=wrong)
    return values


def _objects(body: Body) -> list[Body]:
    items = _list(body, "items")
    errors = [
        FieldError(f"items[{n}]", "must be an object") for n, one in enumerate(items) if not isinstance(one, dict)
    ]
    if errors:
        raise ValidationError(fields=errors)
    return [one for one in items if isinstance(one, dict)]


def _list(body: Body, name: str) -> list[object]:
    errors = [FieldError(other, unknown_name(other, [name])) for other in body if other != name]
    if errors:
        raise ValidationError(fields=errors)
    given = body.get(name)
    if not isinstance(given, list):
        raise ValidationError.on(name, "is required" if name not in body else "must be a list")
    if not given:
        raise ValidationError.on(name, "must hold one at least")
    if len(given) > MOST_ITEMS:
        raise ValidationError.on(name, f"may hold {MOST_ITEMS:,} at most")
    return given


def _id(text: object, n: int) -> UUID:
    """A malformed one is the id of nothing, and no two are the same nothing."""
    nothing = UUID(int=n)
    if not isinstance(text, str) or len(text) != len(str(nothing)):
        return nothing
    try:
        found = UUID(text)
    except ValueError:
        return nothing
    return found if str(found) == text.lower() else nothing
