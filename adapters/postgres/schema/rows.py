"""Tables beside those of entities: histories, and answers kept for requests that are sent twice."""

from sqlalchemy import Column, DateTime, Index, Integer, LargeBinary, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from adapters.postgres.schema.sql import CODE_POINTS


def add_row_tables(metadata: MetaData) -> None:
    _add_history(metadata)
    _add_kept_answers(metadata)


def _add_history(metadata: MetaData) -> None:
    """Adds the table with a line for each version of a row."""
    # Core, and not a model: the table has no primary key, for the tenant of rows that all tenants share is null.
    Table(
        "row_history",
        metadata,
        Column("tenant_id", Uuid()),
        Column("entity", Text(collation=CODE_POINTS), nullable=False),
        Column("row_id", Uuid(), nullable=False),
        Column("version", Integer(), nullable=False),
        Column("action", Text(collation=CODE_POINTS), nullable=False),
        Column("at", DateTime(timezone=True), nullable=False),
        Column("by", Uuid()),
        Column("changes", JSON(), nullable=False),
        Index(
            "uq_row_history_version",
            "tenant_id",
            "entity",
            "row_id",
            "version",
            unique=True,
            postgresql_nulls_not_distinct=True,
        ),
    )


def _add_kept_answers(metadata: MetaData) -> None:
    Table(
        "kept_answers",
        metadata,
        Column("tenant_id", Uuid(), primary_key=True),
        Column("user_id", Uuid(), primary_key=True),
        Column("key", Text(collation=CODE_POINTS), primary_key=True),
        Column("fingerprint", Text(collation=CODE_POINTS), nullable=False),
        Column("answer", LargeBinary()),  # null while the first request is being answered
        Column("at", DateTime(timezone=True), nullable=False),
        Index("ix_kept_answers_at", "at"),
    )
