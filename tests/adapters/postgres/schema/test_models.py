"""Models and migrations describe the same tables: the catalogues of two databases are compared as sets.

Names of tables that a start looks at.

Every declared unique has its index, whatever the entity is like.
"""

import subprocess
import sys
from decimal import Decimal
from itertools import product
from typing import Annotated
from uuid import UUID

import asyncpg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import render_python_code
from alembic.operations.ops import AddColumnOp, UpgradeOps
from msgspec import Struct, defstruct
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from adapters.postgres.identity.tables import UserRow
from adapters.postgres.migrations.autogenerate import render_item
from adapters.postgres.migrations.inspection import differences
from adapters.postgres.operations.open_tables import SERVICE_TABLES
from adapters.postgres.schema.declarative import IdentityBase
from adapters.postgres.schema.schema import metadata_for
from domain.entities.catalogue import Category, Product, Review
from domain.entities.declaration import Registry
from domain.entities.markers import Many, entity, many, money, ref, unique
from domain.entities.registry import build_registry
from tests.conftest import NewDatabase
from tests.library import LIBRARY

COLUMNS = """
SELECT format('%s.%s %s %s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), l.collname,
    CASE WHEN a.attnotnull THEN 'NOT NULL' END, a.attidentity, pg_get_expr(d.adbin, d.adrelid))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum LEFT JOIN pg_collation l ON l.oid = a.attcollation
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
AND a.attnum > 0 AND NOT a.attisdropped"""
CONSTRAINTS = """
SELECT format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND conparentid = 0
AND NOT EXISTS (SELECT FROM pg_class WHERE oid = conrelid AND relispartition)"""
INDEXES = """
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
AND NOT EXISTS (SELECT FROM pg_class WHERE oid = format('%I.%I', schemaname, tablename)::regclass AND relispartition)"""


@pytest.fixture
async def made_from_models(empty_database: NewDatabase, registry: Registry) -> str:
    """A database with the tables of the models, which no migration has seen."""
    url = await empty_database()
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url), poolclass=NullPool
    )
    async with engine.begin() as connection:
        await connection.run_sync(metadata_for(registry).create_all)
    await engine.dispose()
    return url


async def catalogue(url: str) -> set[str]:
    connection = await asyncpg.connect(url)
    try:
        return {row[0] for query in (COLUMNS, CONSTRAINTS, INDEXES) for row in await connection.fetch(query)}
    finally:
        await connection.close()


async def test_the_models_are_what_the_migrations_make(new_database: NewDatabase, made_from_models: str) -> None:
    migrated, declared = await catalogue(await new_database()), await catalogue(made_from_models)
    assert len(declared) > 250
    assert declared - migrated == set()
    # The migrations make these by themselves: where the server has pg_trgm, and Alembic's own table.
    assert {line for line in migrated - declared if "_search ON" not in line and "alembic" not in line} == set()


async def test_autogenerate_finds_no_difference(new_database: NewDatabase, registry: Registry) -> None:
    assert await differences(await new_database(), registry) == []


def test_identitys_tables_are_models_with_separate_metadata() -> None:
    assert issubclass(UserRow, IdentityBase)
    assert UserRow.metadata is IdentityBase.metadata
    assert UserRow(email="ada@example.com").email == "ada@example.com"
    assert {"users", "sessions", "api_keys"} <= IdentityBase.metadata.tables.keys()


def test_each_registry_has_separate_metadata() -> None:
    shop, library = metadata_for(build_registry([Category, Product, Review])), metadata_for(build_registry(LIBRARY))
    assert {"users", "products"} <= set(shop.tables)
    assert "products" not in library.tables
    assert shop.tables["users"] is not library.tables["users"]
    assert "products" not in IdentityBase.metadata.tables


def test_migrations_name_the_types_of_sqlalchemy() -> None:
    """An applied migration does not depend on another library's types."""
    column = sa.Column("seen_at", UserRow.__table__.c.created_at.type)
    text = render_python_code(
        UpgradeOps([AddColumnOp("users", column)]), migration_context=None, render_item=render_item
    )
    assert "sa.DateTime(timezone=True)" in text
    assert "advanced_alchemy" not in text


def test_the_tables_are_those_of_the_schema() -> None:
    assert set(SERVICE_TABLES) == set(metadata_for(Registry({})).tables)


def test_a_start_imports_no_schema_for_them() -> None:
    """To make the tables takes more than half a second of a start's two."""
    asked = (
        "import sys, adapters.postgres.operations.open_tables; print('adapters.postgres.schema.schema' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout == "False\n"


CASES = list(product((True, False), repeat=3))


@pytest.mark.parametrize(("tenant_owned", "soft_delete", "ignore_case"), CASES)
def test_a_declared_unique_has_an_index(*, tenant_owned: bool, soft_delete: bool, ignore_case: bool) -> None:
    class Book(Struct, kw_only=True):
        title: str
        number: int

    declared = [unique("title", ignore_case=ignore_case), unique("title", "number", ignore_case=ignore_case)]
    books = entity("books", tenant_owned=tenant_owned, soft_delete=soft_delete, unique=declared)(Book)
    indexes = metadata_for(build_registry([books])).tables["books"].indexes
    assert {index.name for index in indexes if index.unique} == {"uq_books_title", "uq_books_title_number"}


@pytest.mark.parametrize(
    ("sort", "has_many", "expected"),
    [
        ("-created_at", {}, ["tenant_id", "writer_id"]),
        ("-created_at", {"written": many("books", by="writer_id")}, ["tenant_id", "writer_id", "created_at", "id"]),
        ("title", {"written": many("books", by="writer_id")}, ["tenant_id", "writer_id", "title", "id"]),
        ("-price", {"written": many("books", by="writer_id")}, ["tenant_id", "writer_id", "price", "id"]),
        ("title", {"edited": many("books", by="editor_id")}, ["tenant_id", "writer_id"]),
    ],
)
def test_the_index_of_a_listed_reference_has_the_default_order(
    sort: str, has_many: dict[str, Many], expected: list[str]
) -> None:
    class Book(Struct, kw_only=True):
        title: str
        price: Annotated[Decimal, money(8, 2)]
        writer_id: Annotated[UUID, ref("writers")]
        editor_id: Annotated[UUID, ref("writers")]

    books = entity("books", sort=sort)(Book)
    writers = entity("writers", has_many=has_many)(defstruct("Writer", [("name", str)], kw_only=True))
    indexes = metadata_for(build_registry([books, writers])).tables["books"].indexes
    (found,) = [index for index in indexes if str(index.name).startswith("ix_books_writer_id")]
    assert [column.name for column in found.columns] == expected
    # rows that refer to a row count although they are marked as deleted
    assert found.dialect_options["postgresql"]["where"] is None


@pytest.mark.parametrize("name", ["a" * 60, "a" * 57, "a" * 56, "é" * 30], ids=["60", "57", "56", "of two bytes"])
def test_the_name_of_a_copy_has_at_most_63_bytes(name: str) -> None:
    book = entity("books", unique=[unique(name, ignore_case=True)])(defstruct("Book", [(name, str)], kw_only=True))
    columns = metadata_for(build_registry([book])).tables["books"].columns
    (copy,) = [column.name for column in columns if column.computed is not None]
    assert len(copy.encode()) <= 63
    assert copy.endswith("$lower")
    assert copy.startswith(name[:20])
