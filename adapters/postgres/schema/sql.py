"""Names and conditions that schema and statements share, as text."""

from zlib import crc32

from sqlalchemy.dialects.postgresql import dialect

from application.ports.identity.passwords import FOREIGN
from domain.entities.declaration import EntityModel, Unique

CODE_POINTS = "C"
"""Collation of text: by code point, whatever the server's locale, as the memory adapter sorts."""

IMPORTED = f"password_hash LIKE '{FOREIGN}%'"
"""Condition for accounts with an imported hash that has not been renewed yet."""

DELETED_WITH = "deleted_with"
"""Column of a deleted row: id of the row whose deletion took it along, or its own id. Restoring asks for it."""

_LONGEST_NAME = 63
_QUOTING = dialect().identifier_preparer  # type: ignore[no-untyped-call]


def quoted(name: str) -> str:
    """The name of a column as it stands in SQL: in quotes only where it needs them."""
    return _QUOTING.quote(name)


def without_case(text: str) -> str:
    """Expression that compares text without case."""
    # by the database's own locale: "C" folds ASCII alone
    return f'lower({text} COLLATE "default")'


def is_soft(model: EntityModel) -> bool:
    """Tells whether rows of the entity are marked when they are deleted."""
    return "is_deleted" in model.by_name


def unique_name(model: EntityModel, unique: Unique) -> str:
    return short_name("uq", model.table, *unique.fields)


def short_name(*parts: str) -> str:
    """Name of at most 63 bytes, which PostgreSQL does not cut: a longer one ends with its checksum."""
    name = "_".join(parts)
    encoded = name.encode()
    if len(encoded) <= _LONGEST_NAME:
        return name
    return f"{encoded[: _LONGEST_NAME - 9].decode(errors='ignore')}_{crc32(encoded):08x}"
