"""Names and conditions shared by schema and statements, as text, and SQLAlchemy's PostgreSQL dialects."""

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
"""Collation of text: by code point, independent of the server's locale, like the memory adapter."""

IMPORTED = f"password_hash LIKE '{FOREIGN}%'"
"""Condition for accounts with an imported hash."""

DELETED_WITH = "deleted_with"
"""Column of a deleted row: id of the row from which the deletion cascaded, or its own id. Restoring reads it."""

DIALECT: Dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy gives it no types
"""Dialect of statements for Alembic or a reader: a percent sign is doubled."""

ASYNCPG_DIALECT: Dialect = postgresql.asyncpg.dialect()  # type: ignore[no-untyped-call]  # as above
"""Dialect of statements for asyncpg."""

_LONGEST_NAME = 63


def quoted(name: str) -> str:
    """Return a column's name for SQL, quoted only if needed."""
    return DIALECT.identifier_preparer.quote(name)


def ddl(
    statement: str, context: Mapping[str, object] = MappingProxyType({}), *, table: str = ""
) -> sa.ExecutableDDLElement:
    """Return the DDL statement with values of ``context`` for its placeholders; ``%(table)s`` and ``%(fullname)s``
    become ``table``.
    """
    made: sa.ExecutableDDLElement = sa.DDL(statement, context=context)  # type: ignore[no-untyped-call]  # as above
    return made.against(sa.Table(table, sa.MetaData())) if table else made


def one_line(statement: sa.ExecutableDDLElement) -> str:
    """Return a statement as one line, for a person to run."""
    return " ".join(str(statement.compile(dialect=DIALECT)).split())


def on_table(table: str, command: str, **names: str) -> str:
    """Return a command's text for asyncpg: ``%(fullname)s`` is the table, ``names`` are SQL for the others."""
    return str(ddl(command, names, table=table).compile(dialect=ASYNCPG_DIALECT))


def without_case(text: str) -> str:
    """Return the expression that compares text without case."""
    # Use the database's locale: "C" folds only ASCII.
    return f'lower({text} COLLATE "default")'


def is_soft(model: EntityModel) -> bool:
    """Return whether the entity has soft delete."""
    return "is_deleted" in model.by_name


def unique_name(model: EntityModel, unique: Unique) -> str:
    return short_name("uq", model.table, *unique.fields)


def short_name(*parts: str) -> str:
    """Shorten a name to PostgreSQL's 63 bytes: a longer one ends with its checksum."""
    name = "_".join(parts)
    encoded = name.encode()
    if len(encoded) <= _LONGEST_NAME:
        return name
    return f"{encoded[: _LONGEST_NAME - 9].decode(errors='ignore')}_{crc32(encoded):08x}"
