"""A row as its answer's JSON, written here: the server sends the values as columns, which costs both the least."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import asyncpg
from msgspec import Raw, Struct, defstruct
from msgspec.json import Encoder

from adapters.postgres.entities.reading.json import Column, json_columns, quoted
from application.ports.entities.records import Stored
from domain.entities.declaration import EntityModel

_ENCODER = Encoder(decimal_format="number")


class Included(Struct, frozen=True):
    """An object in a row, of columns that lie beside the row's own; null where the first of them, its id, is."""

    name: str
    parts: "tuple[Part, ...]"


Part = Column | Included
Make = Callable[[tuple[Any, ...]], Struct]


class RowEncoder:
    """``text`` goes into SELECT or RETURNING, first of all; what comes behind it is not shown, and told by its place,
    for its name may be a field's."""

    __slots__ = ("_make", "size", "text")

    def __init__(self, parts: Sequence[Part]) -> None:
        columns = list(_columns(parts))
        self.text = ", ".join(f"{value} AS {quoted(name)}" for name, value in columns)
        self.size = len(columns)
        self._make = _maker(_names(parts))

    def one(self, row: asyncpg.Record) -> Raw:
        return Raw(_ENCODER.encode(self._make(row[: self.size])))

    def many(self, rows: Sequence[asyncpg.Record]) -> Raw:
        """One array, without an encoded row in between."""
        make, size = self._make, self.size
        return Raw(_ENCODER.encode([make(row[:size]) for row in rows]))


def _columns(parts: Iterable[Part], prefix: str = "") -> Iterator[Column]:
    for part in parts:
        if isinstance(part, Included):
            yield from _columns(part.parts, f"{prefix}{part.name}.")
        else:
            yield f"{prefix}{part[0]}", part[1]


Names = tuple["str | tuple[str, Names]", ...]
"""Of an object's members, in order; an included one with those of its own."""


def _names(parts: Iterable[Part]) -> Names:
    return tuple((part.name, _names(part.parts)) if isinstance(part, Included) else part[0] for part in parts)


@lru_cache(maxsize=1024)
def _maker(names: Names) -> Make:
    """From a row's values to what is encoded: a struct, for no other object is made and written faster.

    Shared by all statements that show the same, whatever else they ask.
    """
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


class Statement(Struct, frozen=True):
    """What is asked, and how the rows that come are shown."""

    text: str
    shown: RowEncoder


@lru_cache(maxsize=1024)
def whole(model: EntityModel) -> RowEncoder:
    """All fields of a row, called ``t``, which is what writes answer."""
    return RowEncoder(json_columns(model, "t"))


def stored(model: EntityModel, row: asyncpg.Record) -> Stored:
    """Of a row shown whole, with its id and version behind."""
    shown = whole(model)
    return Stored(row[shown.size], row[shown.size + 1], shown.one(row))
