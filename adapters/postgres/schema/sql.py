"""Words that the schema and the statements share: names and conditions, as text."""

from zlib import crc32

from application.ports.identity.imported_hashes import FOREIGN
from domain.entities.declaration import EntityModel, Unique

CODE_POINTS = "C"
"""Text sorts by code point, whatever the server's locale: the same everywhere, in memory too."""

IMPORTED = f"password_hash LIKE '{FOREIGN}%'"
"""Holds for accounts whose imported hash has not been renewed yet."""

DELETED_WITH = "deleted_with"
"""Of a deleted row: whose deletion took it along, its own id where that was its own. Restoring asks for it."""

_LONGEST_NAME = 63


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
