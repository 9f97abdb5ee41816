"""Bodies of single rows, and the fields that a caller may send."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import islice

import msgspec
from msgspec import Struct

from domain.entities.declaration import EntityModel
from domain.entities.exact_values import as_column
from domain.entities.forms import read_changes, read_new, strangers
from domain.errors import MOST_ERRORS, FieldError, Forbidden, ValidationError, unknown_name
from domain.scope import allows

NOT_WRITABLE = "must not be sent: you lack the permission to write this field"

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
