"""Rows of a peer, past its interface: made, looked at and removed."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from benchmarks import rows
from benchmarks.bench_data import TRANSIENT, User
from benchmarks.databases import Database
from benchmarks.peers.dialect import id_of_record

_AUDIT = """
    created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, created_by uuid, updated_by uuid,
    is_deleted boolean NOT NULL DEFAULT false, deleted_at timestamptz, deleted_by uuid,
    version integer NOT NULL DEFAULT 1"""

TABLES = f"""
CREATE TABLE users (
    id uuid PRIMARY KEY, tenant_id uuid NOT NULL, name text NOT NULL, email text NOT NULL UNIQUE,
    password_hash text NOT NULL);
CREATE TABLE categories (
    tenant_id uuid NOT NULL, id uuid PRIMARY KEY, name text COLLATE "C" NOT NULL, description text COLLATE "C",
    {_AUDIT}, UNIQUE (tenant_id, id));
CREATE TABLE products (
    tenant_id uuid NOT NULL, id uuid PRIMARY KEY, name text COLLATE "C" NOT NULL, sku text COLLATE "C" NOT NULL,
    description text COLLATE "C", price numeric(12, 2) NOT NULL, stock integer NOT NULL DEFAULT 0,
    status text COLLATE "C" NOT NULL DEFAULT 'draft', category_id uuid, released_at timestamptz, {_AUDIT},
    FOREIGN KEY (tenant_id, category_id) REFERENCES categories (tenant_id, id));
CREATE INDEX ON products (tenant_id, category_id);
CREATE INDEX ON products (tenant_id, category_id, price, id);
CREATE INDEX ON products (tenant_id, created_at, id);
CREATE UNIQUE INDEX ON products (tenant_id, sku);
{rows.SEARCH_INDEX};
CREATE INDEX ON categories (tenant_id, created_at, id)"""
"""Tables of the peers on PostgreSQL: an ``id`` as their models want it, and the indexes of the service."""


class Stored(Struct, frozen=True):
    """A row as it is stored."""

    sku: str
    price: float


class Store(Protocol):
    """Rows of a peer."""

    async def stored(self, prefix: str, limit: int = 1_000) -> list[Stored]:
        """Living products whose sku begins with the prefix."""
        ...

    async def product(self, row: UUID) -> Stored | None: ...

    async def add_deletable(self, tenants: Sequence[UUID], first: int, count: int) -> None:
        """Adds rows to be deleted, of each tenant in turn; ids are made from the numbers from ``first`` on."""
        ...

    async def clean(self) -> None:
        """Removes the rows that a run made."""
        ...

    async def cpu(self) -> float:
        """CPU seconds of the database, where it is no part of the peer's own process."""
        ...


class PostgresStore:
    def __init__(self, database: Database) -> None:
        self._database, self._connection = database, database.connection

    async def stored(self, prefix: str, limit: int = 1_000) -> list[Stored]:
        found = await self._connection.fetch(
            "SELECT sku, price FROM products WHERE sku LIKE $1 || '%' AND NOT is_deleted LIMIT $2", prefix, limit
        )
        return [Stored(row["sku"], float(row["price"])) for row in found]

    async def product(self, row: UUID) -> Stored | None:
        found = await self._connection.fetchrow("SELECT sku, price FROM products WHERE id = $1 AND NOT is_deleted", row)
        return None if found is None else Stored(found["sku"], float(found["price"]))

    async def add_deletable(self, tenants: Sequence[UUID], first: int, count: int) -> None:
        await rows.add_deletable(self._connection, tenants, first, count)

    async def clean(self) -> None:
        await rows.clean(self._connection)

    async def cpu(self) -> float:
        return await self._database.cpu()


async def make_tables(database: Database, users: Sequence[User], password_hash: str) -> None:
    await database.connection.execute(TABLES)
    await database.connection.executemany(
        "INSERT INTO users VALUES ($1, $2, $3, $4, $5)",
        [(user.id, user.tenant_id, f"User {number}", user.email, password_hash) for number, user in enumerate(users)],
    )


class SqliteStore:
    """PocketBase's own file, which is read and written beside it: its journal is one of several processes (WAL)."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, timeout=60.0)

    async def stored(self, prefix: str, limit: int = 1_000) -> list[Stored]:
        found = self._connection.execute(
            "SELECT sku, price FROM products WHERE sku LIKE ? || '%' LIMIT ?", (prefix, limit)
        )
        return [Stored(sku, price) for sku, price in found]

    async def product(self, row: UUID) -> Stored | None:
        found = self._connection.execute(
            "SELECT sku, price FROM products WHERE id = ?", (id_of_record(row),)
        ).fetchone()
        return None if found is None else Stored(*found)

    async def add_deletable(self, tenants: Sequence[UUID], first: int, count: int) -> None:
        with self._connection:
            self._connection.executemany(
                "INSERT INTO products (id, tenant, name, sku, description, price, stock, status, created, updated) "
                "VALUES (?, ?, 'To be deleted', ?, '', 1.5, 1, 'live', '2020-01-01 00:00:00.000Z', "
                "'2020-01-01 00:00:00.000Z')",
                [
                    (f"delete{first + n:09d}", str(tenants[n % len(tenants)]), f"{TRANSIENT}D{first + n:09d}")
                    for n in range(count)
                ],
            )

    async def clean(self) -> None:
        with self._connection:
            self._connection.execute(f"DELETE FROM products WHERE sku LIKE '{TRANSIENT}%'")

    async def cpu(self) -> float:
        return 0.0

    def close(self) -> None:
        self._connection.close()
