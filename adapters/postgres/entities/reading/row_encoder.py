"""JSON of rows. The service writes it from PostgreSQL's columns, because this costs both sides the least time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import asyncpg
from msgspec import Raw, Struct, defstruct
from msgspec.json import Encoder
from sqlalchemy import Label

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.statements.compiled import CompiledStatement
from adapters.postgres.statements.json_values import Column
from application.ports.entities.records import Stored
from domain.entities.declaration import EntityModel
from domain.entities.query.responses import too_large_page, too_much_included

_ENCODER = Encoder(decimal_format="number")


class Included(Struct, frozen=True):
    """An included object in a row, built from additional columns; null if its first column, the id, is null."""

    name: str
    parts: "tuple[Part, ...]"


Part = Column | Included
Make = Callable[[tuple[Any, ...]], Struct]


class RowEncoder:
    """Encoder that writes the first ``size`` columns of a row as a JSON object."""

    # Identify columns by position: an internal column may have the name of a field.

    __slots__ = ("_make", "size")

    def __init__(self, names: "Names") -> None:
        self.size = sum(map(_width, names))
        self._make = _maker(names)

    def row(self, row: asyncpg.Record) -> Raw:
        return Raw(_ENCODER.encode(self._make(row[: self.size])))

    def rows(self, rows: Sequence[asyncpg.Record]) -> Raw:
        """Return a JSON array of the rows, encoded in one call."""
        make, size = self._make, self.size
        return Raw(_ENCODER.encode([make(row[:size]) for row in rows]))


class RowStatement(CompiledStatement, frozen=True):
    """A statement with rows that begin with the columns of ``encoder``.

    With ``has_lists``, the statement fails if the lists of related rows together have too many bytes.
    """

    encoder: RowEncoder
    has_lists: bool = False

    async def fetch(self, connection: ServiceConnection, values: Mapping[str, Any]) -> list[asyncpg.Record]:
        """Return the rows of the response. Raises ValidationError if the rows or their lists have too many bytes."""
        try:
            rows: list[asyncpg.Record] = await connection.fetch(self.text, *self.arguments(values))
        except asyncpg.InvalidArgumentForPowerFunctionError:
            raise too_large_page() from None
        except asyncpg.ProgramLimitExceededError:
            if not self.has_lists:
                raise
            raise too_much_included() from None
        return rows


def labelled(parts: Iterable[Part], prefix: str = "") -> Iterator[Label[Any]]:
    """Return the columns to select; those of included objects are named ``relation.name``."""
    for part in parts:
        if isinstance(part, Included):
            yield from labelled(part.parts, f"{prefix}{part.name}.")
        else:
            name, value = part
            yield value.label(f"{prefix}{name}")


Names = tuple["str | tuple[str, Names]", ...]
"""JSON names of an object's members, in order; for an included object, its name with the names of its members."""


def names_of(parts: Iterable[Part]) -> Names:
    return tuple((part.name, names_of(part.parts)) if isinstance(part, Included) else part[0] for part in parts)


@lru_cache(maxsize=1024)
def _maker(names: Names) -> Make:
    """Return a function that makes an encodable object from a row; statements with the same members share it."""
    # msgspec creates and encodes a struct faster than any other object.
    members = [name if isinstance(name, str) else name[0] for name in names]
    fields = {f"field_{number}": name for number, name in enumerate(members)}
    row = defstruct("Row", [(name, Any) for name in fields], rename=fields, gc=False)
    if all(isinstance(name, str) for name in names):
        return lambda values: row(*values)
    places: list[tuple[int, int, Make | None]] = []
    begin = 0
    for name in names:
        end = begin + _width(name)
        places.append((begin, end, None if isinstance(name, str) else _maker(name[1])))
        begin = end

    def make(values: tuple[Any, ...]) -> Struct:
        return row(
            *(
                values[begin] if inner is None or values[begin] is None else inner(values[begin:end])
                for begin, end, inner in places
            )
        )

    return make


def _width(name: "str | tuple[str, Names]") -> int:
    return 1 if isinstance(name, str) else sum(map(_width, name[1]))


@lru_cache(maxsize=1024)
def whole(model: EntityModel) -> RowEncoder:
    """Return the encoder for rows with all fields, for responses to writes."""
    return RowEncoder(tuple(field.wire for field in model.fields))


def stored(model: EntityModel, row: asyncpg.Record) -> Stored:
    """Read a row with all fields, then its id and version."""
    encoder = whole(model)
    return Stored(row[encoder.size], row[encoder.size + 1], encoder.row(row))
