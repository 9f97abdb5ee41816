"""Rows of both databases, made by the same statements, and the baseline's own tables."""

from collections.abc import Sequence
from uuid import UUID

import asyncpg

from benchmarks.bench_data import PERMISSIONS, TRANSIENT, BenchData, Size, User

Connection = asyncpg.Connection

SAMPLE = 500
SECONDS = 900.0
"""Time limit of loading, for the largest variant."""

_AUDIT = """
    created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL, created_by uuid, updated_by uuid,
    is_deleted boolean NOT NULL DEFAULT false, deleted_at timestamptz, deleted_by uuid, version integer NOT NULL,
    PRIMARY KEY (tenant_id, id)"""

SEARCH_INDEX = """
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;
CREATE INDEX ON products USING gin (
    tenant_id, name gin_trgm_ops, sku gin_trgm_ops, description gin_trgm_ops)"""
"""Index of the service's searches. Every database on PostgreSQL has it, because each write pays for it."""

BASELINE_TABLES = f"""
CREATE TABLE users (
    id uuid PRIMARY KEY, tenant_id uuid NOT NULL, name text NOT NULL, email text NOT NULL UNIQUE,
    roles text[] NOT NULL, permissions text[] NOT NULL, password_hash text NOT NULL);
CREATE TABLE categories (
    tenant_id uuid NOT NULL, id uuid NOT NULL, name text COLLATE "C" NOT NULL, description text COLLATE "C", {_AUDIT});
CREATE TABLE products (
    tenant_id uuid NOT NULL, id uuid NOT NULL, name text COLLATE "C" NOT NULL, sku text COLLATE "C" NOT NULL,
    description text COLLATE "C", price numeric(12, 2) NOT NULL, stock integer NOT NULL DEFAULT 0,
    status text COLLATE "C" NOT NULL DEFAULT 'draft', category_id uuid, released_at timestamptz, photo_id uuid,
    {_AUDIT},
    FOREIGN KEY (tenant_id, category_id) REFERENCES categories (tenant_id, id));
CREATE INDEX ON products (tenant_id, category_id);
CREATE INDEX ON products (tenant_id, created_at, id) WHERE NOT is_deleted;
CREATE INDEX ON products (tenant_id, category_id, price, id) WHERE NOT is_deleted;
CREATE UNIQUE INDEX ON products (tenant_id, sku) WHERE NOT is_deleted;
{SEARCH_INDEX};
CREATE INDEX ON categories (tenant_id, created_at, id) WHERE NOT is_deleted"""


def _id(kind: str, number: str) -> str:
    """SQL for a UUID of version 7 made from the number."""
    noise = f"md5('{kind}' || ({number}))"
    time = f"lpad(to_hex(1700000000000 + ({number})::bigint * 1000), 12, '0')"
    return f"({time} || '7' || substr({noise}, 1, 3) || '8' || substr({noise}, 4, 15))::uuid"


def _pick(words: str, number: str) -> str:
    return f"('{{{words}}}'::text[])[1 + ({number}) % {words.count(',') + 1}]"


_NOISE = "(hashint4(n) & 1048575)"
_STUFF, _THING, _STATE = f"{_NOISE} / 10", f"{_NOISE} / 110", f"{_NOISE} / 2090"
_COLOURS = "amber,black,blue,copper,cream,green,grey,ivory,red,white"
_STUFFS = "ash,brass,clay,cork,glass,iron,linen,oak,steel,stone,wool"
_THINGS = "basket,bench,bowl,brush,candle,chair,clock,cup,jar,kettle,knife,lamp,mirror,pan,rug,shelf,spoon,table,tray"

CATEGORIES = f"""
INSERT INTO categories (tenant_id, id, name, description, created_at, updated_at, version)
SELECT ($1::uuid[])[1 + n % $2::int], {_id("category", "n")}, 'Category ' || n / $2, 'Shelf ' || n % 40,
    to_timestamp(1700000000 + n), to_timestamp(1700000000 + n), 1
FROM generate_series(0, $3::int - 1) n"""

PRODUCTS = f"""
INSERT INTO products (tenant_id, id, name, sku, description, price, stock, status, category_id, released_at,
    created_at, updated_at, version)
SELECT ($1::uuid[])[1 + n % $2::int], {_id("product", "n")},
    initcap({_pick(_COLOURS, _NOISE)} || ' ' || {_pick(_STUFFS, _STUFF)} || ' ' || {_pick(_THINGS, _THING)})
        || ' ' || n,
    'SKU-' || lpad(n::text, 9, '0'),
    CASE WHEN n % 97 = 0 THEN '=' ELSE '' END || 'A ' || {_pick(_THINGS, _THING)} || ' made of '
        || {_pick(_STUFFS, _STUFF)} || ', finished in ' || {_pick(_COLOURS, _NOISE)}
        || ', packed in a box of ' || 1 + n % 12 || ', ready to ship.',
    (n * 37 % 1000000)::numeric / 100, n * 13 % 500, {_pick("live,live,live,draft,retired", _STATE)},
    {_id("category", "((n / $2) % $3::int) * $2 + n % $2")}, CASE WHEN n % 4 > 0 THEN to_timestamp(1690000000 + n) END,
    to_timestamp(1700000000 + n), to_timestamp(1700000000 + n), 1
FROM generate_series($5::int, $4::int - 1) n"""


DELETABLE = f"""
INSERT INTO products (tenant_id, id, name, sku, description, price, stock, status, created_at, updated_at, version)
SELECT ($1::uuid[])[1 + n % $2::int], ('01900000-0000-7000-8000-000' || lpad(($3::bigint + n)::text, 9, '0'))::uuid,
    'To be deleted', '{TRANSIENT}D' || lpad(($3::bigint + n)::text, 9, '0'), 'A row that is made to be deleted.',
    1.5, 1, 'live', to_timestamp(1600000000 + n), to_timestamp(1600000000 + n), 1
FROM generate_series(0, $4::int - 1) n"""


async def make_baseline(connection: Connection, users: Sequence[User], password_hash: str) -> None:
    await connection.execute(BASELINE_TABLES)
    await connection.executemany(
        "INSERT INTO users VALUES ($1, $2, $3, $4, $5, $6, $7)",
        [
            (user.id, user.tenant_id, f"User {number}", user.email, ["Clerk"], PERMISSIONS, password_hash)
            for number, user in enumerate(users)
        ],
    )


async def fill(connection: Connection, tenants: Sequence[UUID], size: Size) -> None:
    """Inserts the rows without checking foreign keys row by row: references are valid by construction."""
    await add(connection, tenants, size, 0)
    await settle(connection)


async def add(connection: Connection, tenants: Sequence[UUID], size: Size, first: int) -> None:
    """Inserts the rows from the number ``first`` on; the categories come with the number 0."""
    async with connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        count, each = len(tenants), size.categories_each
        if not first:
            await connection.execute(CATEGORIES, tenants, count, each * count, timeout=SECONDS)
        await connection.execute(PRODUCTS, tenants, count, each, size.rows, first, timeout=SECONDS)


async def add_deletable(connection: Connection, tenants: Sequence[UUID], first: int, count: int) -> None:
    """Inserts rows to delete, of each tenant in turn; the numbers from ``first`` on make their ids, as DELETED_UUID."""
    async with connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(DELETABLE, tenants, len(tenants), first, count, timeout=SECONDS)
    await settle(connection)


async def settle(connection: Connection) -> None:
    """Runs VACUUM ANALYZE and a checkpoint, which could otherwise happen in the middle of a run."""
    await connection.execute("VACUUM ANALYZE categories, products", timeout=SECONDS)
    await connection.execute("CHECKPOINT", timeout=SECONDS)


async def clean(connection: Connection) -> None:
    """Removes the rows that a run made."""
    gone = await connection.execute(f"DELETE FROM products WHERE sku LIKE '{TRANSIENT}%'", timeout=SECONDS)
    if gone != "DELETE 0":
        await connection.execute("VACUUM ANALYZE products", timeout=SECONDS)


async def sample(connection: Connection, users: Sequence[User], size: Size) -> BenchData:
    """Ids spread over each tenant's rows."""
    tenants = list(dict.fromkeys(user.tenant_id for user in users))
    step = max(1, size.rows_each // SAMPLE)
    products = await connection.fetch(
        "SELECT tenant_id, id FROM (SELECT tenant_id, id, row_number() OVER (PARTITION BY tenant_id ORDER BY id) AS n "
        "FROM products WHERE tenant_id = ANY ($1)) p WHERE n % $2 = 0",
        tenants,
        step,
        timeout=SECONDS,
    )
    categories = await connection.fetch("SELECT tenant_id, id FROM categories WHERE tenant_id = ANY ($1)", tenants)
    return BenchData(size=size, users=tuple(users), products=_by_tenant(products), categories=_by_tenant(categories))


def _by_tenant(rows: Sequence[asyncpg.Record]) -> dict[UUID, tuple[UUID, ...]]:
    found: dict[UUID, list[UUID]] = {}
    for row in rows:
        found.setdefault(row["tenant_id"], []).append(row["id"])
    return {tenant: tuple(ids) for tenant, ids in found.items()}
