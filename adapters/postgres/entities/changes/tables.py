"""Tables of the log of changes.

Core tables, not ORM models: shared rows have a null tenant, so there is no primary key by tenant.
"""

from typing import Any

from sqlalchemy import BigInteger, Column, DateTime, Identity, Index, Integer, MetaData, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import JSON

from adapters.postgres.schema.declarative import NAMES
from adapters.postgres.schema.parts import partitioned
from adapters.postgres.schema.sql import CODE_POINTS

_METADATA = MetaData(naming_convention=NAMES)


def _entry() -> list[Column[Any]]:
    return [
        Column("tenant_id", Uuid()),
        Column("entity", Text(collation=CODE_POINTS), nullable=False),
        Column("row_id", Uuid(), nullable=False),
        Column("version", Integer(), nullable=False),
        Column("action", Text(collation=CODE_POINTS), nullable=False),
        Column("at", DateTime(timezone=True), nullable=False),
        Column("by", Uuid()),
        Column("subject", Uuid()),
        Column("data", JSON()),
        Column("was", JSON()),
    ]


QUEUE = Table(
    "change_queue",
    _METADATA,
    # Without a cache, the order of numbers is that of the writes.
    Column("number", BigInteger(), Identity(always=True, cache=1), primary_key=True),
    *_entry(),
)
"""Entries without a position: each write adds its entries, and the sequencer removes them."""

_HEADS = Table(
    "feed_heads",
    _METADATA,
    Column("tenant_id", Uuid()),
    Column("position", BigInteger(), nullable=False),
    Index("uq_feed_heads_tenant_id", "tenant_id", unique=True, postgresql_nulls_not_distinct=True),
)

_CHANGES = Table(
    "changes",
    _METADATA,
    *_entry(),
    Column("position", BigInteger(), nullable=False),
    Column("sequenced_at", DateTime(timezone=True), nullable=False),
    Index("ix_changes_position", "tenant_id", "position"),
    Index("ix_changes_row", "tenant_id", "entity", "row_id", "version"),
    # BRIN: entries are stored in time order, so few pages hold those past their retention.
    Index("ix_changes_sequenced_at", "sequenced_at", postgresql_using="brin"),
    **partitioned("changes"),
)

_EPOCH = Table("service_epoch", _METADATA, Column("epoch", Uuid(), primary_key=True))

TABLES = (QUEUE, _HEADS, _CHANGES, _EPOCH)
