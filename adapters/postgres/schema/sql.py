"""Names and conditions that schema and statements share, as text, and how SQLAlchemy writes them for PostgreSQL."""

from collections.abc import Mapping
from types import MappingProxyType
from zlib import crc32

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Dialect

from application.ports.identity.passwords import FOREIGN
from domain.entities.declaration import EntityModel
from domain.entities.markers import Unique

CODE_POINTS = "C"
"""Collation of text: by code point, whatever the server's locale, as the memory adapter sorts."""

IMPORTED = f"password_hash LIKE '{FOREIGN}%'"
"""Condition for accounts with an imported hash that has not been renewed yet."""

DELETED_WITH = "deleted_with"
"""Column of a deleted row: id of the row whose deletion took it along, or its own id. Restoring asks for it."""

DIALECT: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy gives it no types
"""Text of statements that Alembic runs or a person reads: a percent sign is written twice."""

ASYNCPG_DIALECT: Dialect = postgresql.asyncpg.dialect()  # type: ignore[no-untyped-call]  # as above
"""Text of statements that asyncpg runs."""

_LONGEST_NAME = 63


def quoted(name: str) -> str:
    """The name of a column as it stands in SQL: in quotes only where it needs them."""
    return DIALECT.identifier_preparer.quote(name)


def ddl(
    statement: str, context: Mapping[str, object] = MappingProxyType({}), *, table: str = ""
) -> sa.ExecutableDDLElement:
    """The statement with the names of ``context``, and with ``%(table)s`` and ``%(fullname)s`` for ``table``."""
    made: sa.ExecutableDDLElement = sa.DDL(statement, context=context)  # type: ignore[no-untyped-call]  # as above
    return made.against(sa.Table(table, sa.MetaData())) if table else made


def one_line(statement: sa.ExecutableDDLElement) -> str:
    """Text of a statement as a person runs it."""
    return " ".join(str(statement.compile(dialect=DIALECT)).split())


def on_table(table: str, command: str, **names: str) -> str:
    """Text of a command for asyncpg: ``%(fullname)s`` is the table, ``names`` stand for the others as SQL."""
    return str(ddl(command, names, table=table).compile(dialect=ASYNCPG_DIALECT))


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
