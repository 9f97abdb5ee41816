"""Kinds of fields and their values, independent of any technology."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct

Family = Literal["text", "number", "time", "list", "other"]


class Kind(Enum):
    """Kind of a field's value. It determines the column, operators, JSON schema and file cell.

    Each technology has a table with an entry for every kind; tests/domain/entities/test_registry.py finds missing
    entries.
    """

    TEXT = "text"
    INTEGER = "integer"
    BIG_INTEGER = "big integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    TIMESTAMP = "timestamp"
    DATE = "date"
    UUID = "uuid"
    CHOICE = "choice"
    UUIDS = "uuids"
    TEXTS = "texts"
    LINKS = "links"


class ValueKind(Struct, frozen=True):
    """Values of a kind: ``python`` is their type; ``bits`` are those of a whole number, without its sign."""

    python: Any
    family: Family
    bits: int | None = None


KINDS: Mapping[Kind, ValueKind] = {
    Kind.TEXT: ValueKind(str, "text"),
    Kind.INTEGER: ValueKind(int, "number", bits=31),
    Kind.BIG_INTEGER: ValueKind(int, "number", bits=63),
    Kind.DECIMAL: ValueKind(Decimal, "number"),
    Kind.FLOAT: ValueKind(float, "number"),
    Kind.BOOLEAN: ValueKind(bool, "other"),
    Kind.TIMESTAMP: ValueKind(datetime, "time"),
    Kind.DATE: ValueKind(date, "time"),
    Kind.UUID: ValueKind(UUID, "other"),
    Kind.CHOICE: ValueKind(str, "text"),
    Kind.UUIDS: ValueKind(list[UUID], "list"),
    Kind.TEXTS: ValueKind(list[str], "list"),
    Kind.LINKS: ValueKind(list[UUID], "list"),
}
"""If a declared type fits several kinds, it means the first one; a marker, such as ``big``, selects another."""


def _of(family: Family) -> frozenset[Kind]:
    return frozenset(kind for kind, record in KINDS.items() if record.family == family)


TEXTS, NUMBERS, TIMES, LISTS = _of("text"), _of("number"), _of("time"), _of("list")
BITS: Mapping[Kind, int] = {kind: record.bits for kind, record in KINDS.items() if record.bits is not None}
"""Bits of whole number kinds."""
