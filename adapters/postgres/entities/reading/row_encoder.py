"""JSON of rows, written here from the columns that the server sends, which costs both sides the least."""

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
from domain.entities.query.query import too_large_page, too_much_included

_ENCODER = Encoder(decimal_format="number")


class Included(Struct, frozen=True):
    """An object in a row, of columns that lie beside the row's own; null where the first of them, its id, is."""

    name: str
    parts: "tuple[Part, ...]"


Part = Column | Included
Make = Callable[[tuple[Any, ...]], Struct]


class RowEncoder:
    """Writes the first ``size`` columns of a row as a JSON object."""

    # columns are told by their place: what a statement adds behind them for itself may have the name of a field

    __slots__ = ("_make", "size")

    def __init__(self, names: "Names") -> None:
        self.size = sum(map(_width, names))
        self._make = _maker(names)

    def row(self, row: asyncpg.Record) -> Raw:
        return Raw(_ENCODER.encode(self._make(row[: self.size])))

    def rows(self, rows: Sequence[asyncpg.Record]) -> Raw:
        """A JSON array, written at once rather than row by row."""
        make, size = self._make, self.size
        return Raw(_ENCODER.encode([make(row[:size]) for row in rows]))


class RowStatement(CompiledStatement, frozen=True):
    """A statement whose rows begin with the columns that ``encoder`` takes.

    With ``has_lists`` it ends where the lists of related rows are too long together.
    """

    encoder: RowEncoder
    has_lists: bool = False

    async def fetch(self, connection: ServiceConnection, values: Mapping[str, Any]) -> list[asyncpg.Record]:
        """Rows of the answer. Raises ValidationError where they or their lists have too many bytes."""
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
    """The columns to select: those of included objects are called ``relation.name``."""
    for part in parts:
        if isinstance(part, Included):
            yield from labelled(part.parts, f"{prefix}{part.name}.")
        else:
            name, value = part
            yield value.label(f"{prefix}{name}")


Names = tuple["str | tuple[str, Names]", ...]
"""Names of an object's members, in order; an included object with the names of its own."""


def names_of(parts: Iterable[Part]) -> Names:
    return tuple((part.name, names_of(part.parts)) if isinstance(part, Included) else part[0] for part in parts)


@lru_cache(maxsize=1024)
def _maker(names: Names) -> Make:
    """Makes the object to encode of a row's values; statements with the same members share it."""
    # a struct, for no other object is made and written faster
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
    """The encoder of rows with every field, which is what writes answer."""
    return RowEncoder(tuple(field.wire for field in model.fields))


def stored(model: EntityModel, row: asyncpg.Record) -> Stored:
    """Reads a row with every field, and its id and version behind them."""
    encoder = whole(model)
    return Stored(row[encoder.size], row[encoder.size + 1], encoder.row(row))
