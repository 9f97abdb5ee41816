"""Tables beside those of entities: histories, and answers kept for requests that are sent twice."""

from sqlalchemy import Column, DateTime, Index, Integer, LargeBinary, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from adapters.postgres.schema.declarative import NAMES
from adapters.postgres.schema.parts import partitioned
from adapters.postgres.schema.sql import CODE_POINTS

_METADATA = MetaData(naming_convention=NAMES)

# Core, and not a model: the table has no primary key, for the tenant of rows that all tenants share is null.
HISTORY = Table(
    "row_history",
    _METADATA,
    Column("tenant_id", Uuid()),
    Column("entity", Text(collation=CODE_POINTS), nullable=False),
    Column("row_id", Uuid(), nullable=False),
    Column("version", Integer(), nullable=False),
    Column("action", Text(collation=CODE_POINTS), nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("by", Uuid()),
    Column("changes", JSON(), nullable=False),
    # Not unique, because the key of the parts is not in it: the statement that makes a version writes its line, and
    # holds the row's lock.
    Index("ix_row_history_row", "tenant_id", "entity", "row_id", "version"),
    # Lines are stored in the order of time: a few pages of index tell where those past their retention are.
    Index("ix_row_history_at", "at", postgresql_using="brin"),
    **partitioned("row_history"),
)
"""A line for each version of a row."""

_ANSWERS = Table(
    "kept_answers",
    _METADATA,
    Column("tenant_id", Uuid(), primary_key=True),
    Column("user_id", Uuid(), primary_key=True),
    Column("key", Text(collation=CODE_POINTS), primary_key=True),
    Column("fingerprint", Text(collation=CODE_POINTS), nullable=False),
    Column("answer", LargeBinary()),  # null while the first request is being answered
    Column("at", DateTime(timezone=True), nullable=False),
    Index("ix_kept_answers_at", "at"),
)

TABLES = (HISTORY, _ANSWERS)
