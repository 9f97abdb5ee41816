"""A row as its answer's JSON, written here: the server sends the values as columns, which costs both the least."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import asyncpg
from msgspec import Raw, Struct, defstruct
from msgspec.json import Encoder

from adapters.postgres.json import Column, json_columns, quoted
from application.ports.records import Stored
from domain.entity import EntityModel

_ENCODER = Encoder(decimal_format="number")


class Shown:
    """``text`` goes into SELECT or RETURNING, first of all; what comes behind it is not shown, and told by its place,
    for its name may be a field's."""

    __slots__ = ("_row", "size", "text")

    def __init__(self, columns: Sequence[Column]) -> None:
        self.text = ", ".join(f"{value} AS {quoted(name)}" for name, value in columns)
        self.size = len(columns)
        names = {f"column_{number}": name for number, (name, _) in enumerate(columns)}
        self._row = defstruct("Row", [(name, Any) for name in names], rename=names, gc=False)

    def one(self, row: asyncpg.Record) -> Raw:
        return Raw(_ENCODER.encode(self._row(*row[: self.size])))

    def many(self, rows: Sequence[asyncpg.Record]) -> Raw:
        """One array, without an encoded row in between."""
        row, size = self._row, self.size
        return Raw(_ENCODER.encode([row(*one[:size]) for one in rows]))


class Statement(Struct, frozen=True):
    """What is asked, and how the rows that come are shown."""

    text: str
    shown: Shown


@lru_cache(maxsize=1024)
def whole(model: EntityModel, alias: str = "t") -> Shown:
    """All fields of a row, which is what writes answer."""
    return Shown(json_columns(model, alias))


def stored(model: EntityModel, row: asyncpg.Record) -> Stored:
    """Of a row shown whole, with its id and version behind."""
    shown = whole(model)
    return Stored(row[shown.size], row[shown.size + 1], shown.one(row))
