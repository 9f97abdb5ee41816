"""The tables that stand beside those of entities: histories, and the answers kept for requests that come twice."""

from sqlalchemy import Column, DateTime, Index, Integer, LargeBinary, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from adapters.postgres.schema.sql import CODE_POINTS


def add_row_tables(metadata: MetaData) -> None:
    _add_history(metadata)
    _add_kept_answers(metadata)


def _add_history(metadata: MetaData) -> None:
    """One line for each version of a row; the tenant is null for rows that all tenants share."""
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
    """``answer`` is null only while the first request is still being answered."""
    Table(
        "kept_answers",
        metadata,
        Column("tenant_id", Uuid(), primary_key=True),
        Column("user_id", Uuid(), primary_key=True),
        Column("key", Text(collation=CODE_POINTS), primary_key=True),
        Column("fingerprint", Text(collation=CODE_POINTS), nullable=False),
        Column("answer", LargeBinary()),
        Column("at", DateTime(timezone=True), nullable=False),
        Index("ix_kept_answers_at", "at"),
    )
