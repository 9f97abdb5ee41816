"""Parts of a request that one transaction writes, and the failures of all of them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from application.entities.guarded_fields import GuardedFields
from domain.entities.bodies import Body
from domain.errors import (
    Conflict,
    Error,
    FieldError,
    Forbidden,
    NotFound,
    PreconditionFailed,
    UnprocessableEntity,
    ValidationError,
)
from domain.scope import Caller

FAILURES = (ValidationError, NotFound, Forbidden, PreconditionFailed, Conflict, UnprocessableEntity)
"""Errors of rows in the order of checks. Any other error ends the request at once."""

_ITEM = re.compile(r"items\[([0-9]+)\](?:\.(.+))?")
_PLACES: dict[type[Error], str] = {NotFound: "id", PreconditionFailed: "version"}


@dataclass(frozen=True)
class WrittenPart:
    """Rows of one entity that are written together: their places in the request, and what the caller sent for each."""

    caller: Caller
    fields: GuardedFields
    word: str
    places: Sequence[int]
    sent: Sequence[Body]

    def row(self, number: int) -> "WrittenPart":
        """Return the part with one of the rows."""
        return WrittenPart(
            self.caller, self.fields, self.word, self.places[number : number + 1], self.sent[number : number + 1]
        )

    def named(self, error: Error) -> Iterator[tuple[int, FieldError]]:
        """Return the error's fields by place, named as ``operations[2].price``, without hidden fields."""
        is_single = len(self.places) == 1
        try:
            with self.fields.concealing(self.caller, self.sent[0] if is_single else {"items": list(self.sent)}):
                raise error
        except Error as shown:
            fields = shown.fields or (FieldError(_PLACES.get(type(error), ""), error.message),)
        for wrong in fields:
            found = None if is_single else _ITEM.fullmatch(wrong.field)
            place, name = (self.places[0], wrong.field) if found is None else (self.places[int(found[1])], found[2])
            yield place, FieldError(f"{self.word}[{place}]{f'.{name}' if name else ''}", wrong.message)


@dataclass
class PartFailures:
    """PartFailures of the parts of a request."""

    found: list[tuple[WrittenPart, Error]] = field(default_factory=list)

    def add(self, part: WrittenPart, error: Error) -> None:
        self.found.append((part, error))

    @property
    def are_of_rules(self) -> bool:
        """Whether only rules of entities have refused; true without a failure."""
        return all(_kind(error) is UnprocessableEntity for _, error in self.found)

    def ensure_none(self) -> None:
        """Raise the first kind of failure in the order of checks, with the fields of each failure of this kind."""
        if not self.found:
            return
        kind = min((_kind(error) for _, error in self.found), key=FAILURES.index)
        these = [(part, error) for part, error in self.found if _kind(error) is kind]
        fields = sorted((named for part, error in these for named in part.named(error)), key=lambda named: named[0])
        raise kind(these[0][1].message if len(these) == 1 else None, [wrong for _, wrong in fields])


def _kind(error: Error) -> type[Error]:
    return next(kind for kind in FAILURES if isinstance(error, kind))
