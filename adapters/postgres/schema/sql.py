"""Words that the schema and the statements share: types, names and conditions, as text.

The schema is made with SQLAlchemy, which answers no request: nothing here needs it.
"""

from collections.abc import Mapping
from zlib import crc32

from application.ports.identity.imported_hashes import FOREIGN
from domain.entities.declaration import EntityModel, FieldModel, Kind, Unique

CODE_POINTS = "C"
"""Text sorts by code point, whatever the server's locale: the same everywhere, in memory too."""

IMPORTED = f"password_hash LIKE '{FOREIGN}%'"
"""Holds for accounts whose imported hash has not been renewed yet."""

DELETED_WITH = "deleted_with"
"""Of a deleted row: whose deletion took it along, its own id where that was its own. Restoring asks for it."""

_LONGEST_NAME = 63

_TYPES: Mapping[Kind, str] = {
    Kind.TEXT: "TEXT",
    Kind.INTEGER: "INTEGER",
    Kind.BIG_INTEGER: "BIGINT",
    Kind.FLOAT: "DOUBLE PRECISION",
    Kind.BOOLEAN: "BOOLEAN",
    Kind.TIMESTAMP: "TIMESTAMP WITH TIME ZONE",
    Kind.DATE: "DATE",
    Kind.UUID: "UUID",
    Kind.CHOICE: "TEXT",
    Kind.UUIDS: "UUID[]",
    Kind.TEXTS: "TEXT[]",
}


def sql_type(one: FieldModel) -> str:
    """The type's bare name, for casts of parameters: the one that the schema gives the column."""
    if one.kind is Kind.DECIMAL:
        assert one.money is not None
        return f"NUMERIC({one.money.precision}, {one.money.scale})"
    return _TYPES[one.kind]


def sql_literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def without_case(text: str) -> str:
    """Text as it is compared without case: by the database's own locale, for "C" knows only ASCII."""
    return f'lower({text} COLLATE "default")'


def is_soft(model: EntityModel) -> bool:
    """Whether its rows carry the mark of a soft delete; those without write routes do not."""
    return "is_deleted" in model.by_name


def unique_name(model: EntityModel, unique: Unique) -> str:
    return short_name("uq", model.table, *unique.fields)


def short_name(*parts: str) -> str:
    """A name that the server does not cut; what is too long ends with a number of its own."""
    name = "_".join(parts)
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 9]}_{crc32(name.encode()):08x}"
