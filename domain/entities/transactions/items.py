"""Lists of several rows in a body, with the place of each error: ``items[3].price``."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from itertools import islice
from typing import TypeVar, cast
from uuid import UUID

from msgspec import Struct

from domain.entities.bodies import Body, SentChanges
from domain.entities.exact_values import whole_number
from domain.errors import MOST_ERRORS, FieldError, Forbidden, ValidationError, unknown_name
from domain.forms import uuid_of

MOST_ITEMS = 1_000
_VERSIONS_END = 2**31
NO_VERSION = 0  # marks an invalid value; versions begin at 1
NOT_A_VERSION = "must be the version that was read: a whole number from 1, or null"

R = TypeVar("R")


class Item(Struct, frozen=True):
    """A change of one of several rows; ``version`` is the one that the caller saw, None for any."""

    id: UUID
    sent: SentChanges
    version: int | None = None


def read_items(body: Body, read: Callable[[Body], R]) -> list[R]:
    """Read each item of ``{"items": […]}``; every invalid field is named, as ``items[3].price``."""
    return read_each(*objects_in(body), lambda _, item: read(item))


def read_changed_items(body: Body, read: Callable[[Body], SentChanges]) -> list[Item]:
    """Read the changes of each item of ``{"items": [{"id": …, "version": …, …}]}``.

    Raises ValidationError, also for a repeated id.
    """
    items, errors = objects_in(body)
    errors += [FieldError(f"items[{n}].id", "is required") for n, item in items if "id" not in item]
    errors += [
        FieldError(f"items[{n}].id", "must be an id (UUID)")
        for n, item in items
        if "id" in item and not isinstance(item["id"], str)
    ]
    ids = {n: id_of(item.get("id"), n) for n, item in items}
    seen: dict[UUID, int] = {}
    for n, row_id in ids.items():
        if seen.setdefault(row_id, n) != n:
            errors.append(FieldError(f"items[{n}].id", f"is the id of items[{seen[row_id]}] too"))
    versions = {n: version_of(item.get("version")) for n, item in items}
    errors += [
        FieldError(f"items[{n}].version", NOT_A_VERSION) for n, version in versions.items() if version == NO_VERSION
    ]
    sent = read_each(items, errors, lambda _, item: read(item))
    return [Item(*parts) for parts in zip(ids.values(), sent, versions.values(), strict=True)]


def version_of(value: object) -> int | None:
    """Return the version in a body, None for any, or NO_VERSION for an invalid value."""
    number = whole_number(value) if isinstance(value, Decimal) else value
    if number is None:
        return None
    is_version = isinstance(number, int) and not isinstance(number, bool) and 1 <= number < _VERSIONS_END
    return cast(int, number) if is_version else NO_VERSION


def read_ids(body: Body) -> list[UUID]:
    """Read the ids of ``{"ids": […]}``, at most 1,000."""
    given, errors = _list(body, "ids")
    errors += [
        FieldError(f"ids[{n}]", "must be an id (UUID)") for n, row_id in enumerate(given) if not isinstance(row_id, str)
    ]
    if errors:
        raise ValidationError(fields=errors)
    return [id_of(row_id, n) for n, row_id in enumerate(given)]


def read_each(
    items: Iterable[tuple[int, Body]], errors: Iterable[FieldError], read: Callable[[int, Body], R], word: str = "items"
) -> list[R]:
    """Return the read items if all are valid and ``errors`` is empty; ``word`` names their list in errors.

    Raises Forbidden before ValidationError, each with the errors of all items.
    """
    values: list[R] = []
    wrong, forbidden = list(errors), list[FieldError]()
    for n, item in items:
        # An answer lists no more errors, so stop reading.
        if len(wrong) + len(forbidden) > MOST_ERRORS:
            break
        try:
            values.append(read(n, item))
        except ValidationError as error:
            wrong += [FieldError(f"{word}[{n}].{field.field}", field.message) for field in error.fields]
        except Forbidden as error:
            forbidden += [FieldError(f"{word}[{n}].{field.field}", field.message) for field in error.fields] or [
                FieldError(f"{word}[{n}]", error.message)
            ]
    # Forbidden goes before invalid, as for a single row.
    if forbidden:
        raise Forbidden(fields=forbidden)
    if wrong:
        raise ValidationError(fields=wrong)
    return values


def objects_in(
    body: Body, word: str = "items", most: int = MOST_ITEMS
) -> tuple[list[tuple[int, Body]], list[FieldError]]:
    """Return the numbered objects of the list ``word``, and the errors of its other entries and of other names."""
    given, errors = _list(body, word, most)
    errors += [
        FieldError(f"{word}[{n}]", "must be an object") for n, item in enumerate(given) if not isinstance(item, dict)
    ]
    return [(n, item) for n, item in enumerate(given) if isinstance(item, dict)], errors


def _list(body: Body, name: str, most: int = MOST_ITEMS) -> tuple[list[object], list[FieldError]]:
    """The list ``name``, and errors of other names. Raises ValidationError without such a list."""
    others = islice((other for other in body if other != name), MOST_ERRORS + 1)
    errors = [FieldError(other, unknown_name(other, [name])) for other in others]
    given = body.get(name)
    if isinstance(given, list) and 1 <= len(given) <= most:
        return given, errors
    if not isinstance(given, list):
        wrong = "is required" if name not in body else "must be a list"
    else:
        wrong = f"may hold at most {most:,} entries" if given else "must hold at least one entry"
    raise ValidationError(fields=[*errors, FieldError(name, wrong)])


def id_of(text: object, n: int) -> UUID:
    """Return the id of the item with number ``n``; a malformed id names no row."""
    # Give each an unused id, so that two do not count as repeated.
    found = uuid_of(text) if isinstance(text, str) else None
    return UUID(int=n) if found is None else found
