"""Migrations: from nothing to what is declared, written from declarations, whoever else migrates meanwhile."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID, uuid4

import asyncpg
import pytest
from msgspec import Meta, Struct

from adapters.postgres.migrations import inspection
from adapters.postgres.migrations.commands import run_command
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS, MigrationRefused, heads_of, pending, pending_on
from adapters.postgres.schema.row_security import ROLE
from adapters.postgres.schema.schema import metadata_for
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity, ref, unique
from domain.entities.registry import build_registry
from tests.adapters.postgres.migrations.changed_books import Books
from tests.conftest import NewDatabase
from tests.entrypoints.processes import ROOT


@entity("books", search=["title"], unique=[unique("title", ignore_case=True)])
class Book(Struct, rename="camel", kw_only=True):
    title: Annotated[str, Meta(max_length=200)]
    category_id: Annotated[UUID | None, ref("categories", on_delete="clear")] = None


@entity("books", search=["title"])
class NewBook(Struct, rename="camel", kw_only=True):
    title: Annotated[str, Meta(max_length=200)]
    pages: int = 100
    isbn: str | None = None


UNKNOWN = "The database was migrated with files that TENANTRY_ENTITIES does not name now: no migration has the revision"
NEWER = "A newer version of Tenantry migrated the database: this one has no migration"

WITH_BOOKS = build_registry([*ENTITIES, *BUILTIN_ENTITIES, Book])
WITH_NEW_BOOKS = build_registry([*ENTITIES, *BUILTIN_ENTITIES, NewBook])


@pytest.fixture
async def empty(empty_database: NewDatabase) -> str:
    return await empty_database()


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    return [VERSIONS, tmp_path]


def newest_of(folder: Path) -> set[str]:
    """The revisions that no other stands on: one, or somebody has to choose."""
    texts = [path.read_text() for path in folder.glob("0*.py")]
    named = {
        name: {found for text in texts for found in re.findall(rf'^{name} = "(\w+)"', text, re.MULTILINE)}
        for name in ("revision", "down_revision")
    }
    return named["revision"] - named["down_revision"]


async def test_an_empty_database_is_migrated_to_the_declared_schema(
    empty: str, registry: Registry, folders: list[Path]
) -> None:
    (newest,) = newest_of(VERSIONS)
    assert await pending(empty, registry) == [f"The database is empty: migrations up to {newest} are pending."]
    assert await upgrade(empty, registry) == []
    assert await pending(empty, registry) == []
    assert await write_migration(empty, registry, "nothing", folders) is None


async def test_being_current_is_known_at_once(new_database: NewDatabase, registry: Registry) -> None:
    """By a few statements: each process asks at its start, and its probe of readiness again and again."""
    connection = await asyncpg.connect(await new_database())
    asked: list[str] = []
    connection.add_query_logger(lambda record: asked.append(record.query))
    assert await pending_on(connection, registry) == []
    await connection.close()
    assert 3 <= len(asked) <= 6  # the driver adds what it asks about types


async def test_an_entity_without_a_migration_is_named(new_database: NewDatabase) -> None:
    assert await pending(await new_database(), WITH_BOOKS) == ["Book: no migration makes the table books."]


async def test_a_new_entity_gets_table_keys_and_row_security(new_database: NewDatabase, folders: list[Path]) -> None:
    url = await new_database()
    written = await write_migration(url, WITH_BOOKS, "Add books", folders)
    assert written is not None
    assert written.path.parent == folders[-1]
    text = written.path.read_text()
    assert 'secure_table("books", by_tenant=True)' in text
    up, _, down = text.partition("def downgrade")
    assert "drop" not in up
    assert 'op.drop_table("books")' in down.replace("'", '"')
    assert await upgrade(url, WITH_BOOKS, folders) == []
    assert await write_migration(url, WITH_BOOKS, "again", folders) is None
    connection = await asyncpg.connect(url, server_settings={"role": ROLE})
    try:
        assert await connection.fetch("SELECT * FROM books") == []
        assert await connection.fetchval("SELECT relforcerowsecurity FROM pg_class WHERE relname = 'books'")
        indexes = await connection.fetch("SELECT indexname FROM pg_indexes WHERE tablename = 'books'")
        assert {row["indexname"] for row in indexes} == {
            "pk_books",
            "uq_books_title",
            "ix_books_category_id",
            "ix_books_order",
            "ix_books_search",
        }
    finally:
        await connection.close()


async def test_columns_that_no_entity_declares_any_more_remain_and_are_reported(
    new_database: NewDatabase, folders: list[Path]
) -> None:
    url = await new_database()
    await Books(url, folders[-1]).start(WITH_BOOKS)
    connection = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    columns = "tenant_id, id, title, created_at, updated_at, version"
    await connection.execute(f"INSERT INTO books ({columns}) VALUES ($1, $1, 'x', now(), now(), 1)", uuid4())
    assert await pending(url, WITH_NEW_BOOKS, folders) == [
        "NewBook: no migration makes the columns isbn, pages of books."
    ]
    written = await write_migration(url, WITH_NEW_BOOKS, "Books have pages", folders)
    assert written is not None
    assert "books.category_id is left as it is: nothing declares it any more." in written.notes
    assert await upgrade(url, WITH_NEW_BOOKS, folders) == []
    assert await connection.fetchval("SELECT pages FROM books") == 100
    await connection.close()
    assert await upgrade(url, build_registry([*ENTITIES, *BUILTIN_ENTITIES]), folders) == []


async def test_migrations_of_the_project_and_of_the_service_are_separate_branches(
    new_database: NewDatabase, folders: list[Path], tmp_path: Path
) -> None:
    url = await new_database()
    assert await write_migration(url, WITH_BOOKS, "Add books", folders) is not None
    await upgrade(url, WITH_BOOKS, folders)
    ours = tmp_path / "ours"
    ours.mkdir()
    for file in VERSIONS.glob("*.py"):
        (ours / file.name).write_text(file.read_text())
    later = 'revision = "0009"\ndown_revision = "0008"\n\n\ndef upgrade() -> None:\n    pass\n'
    (ours / "0009_later.py").write_text(later)
    both = [ours, folders[-1]]
    assert await pending(url, WITH_BOOKS, both) != []
    assert await upgrade(url, WITH_BOOKS, both) == []


TOGETHER = """
import asyncio, os, sys
from adapters.postgres.migrations.migrate import upgrade
from domain.entities.catalogue import ENTITIES
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.registry import build_registry

for _ in range(3):
    if os.fork() == 0:
        print(asyncio.run(upgrade(sys.argv[1], build_registry([*ENTITIES, *BUILTIN_ENTITIES]))), flush=True)
        os._exit(0)
sys.exit(any(os.wait()[1] for _ in range(3)))
"""


@pytest.mark.promise(
    "migrations, databases and replicas: Processes of their own that start together on an empty database all serve, "
    "and one makes the admin (make stress: ten at once, fifty times)"
)
async def test_many_that_migrate_together_migrate_once(empty: str, registry: Registry) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", TOGETHER, empty, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert (await process.communicate())[0] == b"[]\n" * 3
    assert process.returncode == 0
    assert await pending(empty, registry) == []


async def test_a_database_user_who_may_not_create_the_role_gets_a_message_with_the_remedy(
    empty: str, servers: tuple[str, str], registry: Registry
) -> None:
    """The message is one of two: the role is missing, or, on a server that has it, cannot be taken on."""
    name = f"tenantry_weak_{uuid4().hex[:8]}"
    connection = await asyncpg.connect(empty)
    await connection.execute(
        f"CREATE ROLE {name} LOGIN PASSWORD 'weak'; GRANT CREATE, USAGE ON SCHEMA public TO {name}"
    )
    try:
        weak = _as_user(empty, name)
        with pytest.raises(Exception, match="tenantry_service, which tenantry_weak_"):
            await upgrade(weak, registry)
    finally:
        await connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")
        await connection.close()


def _as_user(url: str, name: str) -> str:
    scheme, rest = url.split("://", 1)
    return f"{scheme}://{name}:weak@{rest.split('@', 1)[1]}"


async def test_a_downgrade_to_base_drops_all_tables_and_can_be_undone(
    new_database: NewDatabase, registry: Registry
) -> None:
    url = await new_database()
    await run_command(url, metadata_for(registry), [VERSIONS], lambda commands: commands.downgrade("base"))
    connection = await asyncpg.connect(url)
    tables = await connection.fetch("SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') AND oid > 16384")
    assert {row["relname"] for row in tables} - {"alembic_version"} == set()
    assert await connection.fetchval("SELECT to_regnamespace('tenantry_search')") is None
    await connection.close()
    assert await upgrade(url, registry) == []


async def test_current_and_history_list_the_migrations_and_change_nothing(
    empty: str, new_database: NewDatabase, registry: Registry, folders: list[Path]
) -> None:
    (newest,) = newest_of(VERSIONS)
    assert await inspection.current(empty, registry) == []
    assert len(await inspection.history(empty, registry)) == len(list(VERSIONS.glob("0*.py")))
    assert await pending(empty, registry) == [f"The database is empty: migrations up to {newest} are pending."]
    url = await new_database()
    assert await inspection.current(url, registry) == [f"{newest} (head)"]
    first, *_, last = await inspection.history(url, registry)
    assert f"-> {newest} (head) (current), " in first
    assert last.startswith("<base> -> 0001, The service's tables")
    assert await write_migration(url, WITH_BOOKS, "Add books", folders) is not None
    assert len(await inspection.history(url, WITH_BOOKS, folders)) == len(list(VERSIONS.glob("0*.py"))) + 1
    await upgrade(url, WITH_BOOKS, folders)
    (own,) = heads_of(folders[1:])
    applied = {f"{newest} (effective head)", f"{own} (head)"}  # the newest of each folder
    assert set(await inspection.current(url, WITH_BOOKS, folders)) == applied


async def test_schema_differences_are_reported_in_sentences(
    new_database: NewDatabase, registry: Registry, folders: list[Path]
) -> None:
    url = await new_database()
    assert await inspection.differences(url, registry) == []
    connection = await asyncpg.connect(url)
    await connection.execute(
        """
        ALTER TABLE products DROP COLUMN stock;
        ALTER TABLE users ALTER full_name DROP NOT NULL;
        ALTER TABLE tenants ALTER name TYPE varchar(10);
        ALTER TABLE reviews DROP CONSTRAINT fk_reviews_product_id;
        DROP INDEX uq_categories_name;
        CREATE UNIQUE INDEX uq_products_price ON products (price);
        CREATE INDEX own_index ON products (price);
        ALTER TABLE products ADD own_column int;
        ALTER TABLE products ADD CONSTRAINT category_id_is_set CHECK (category_id IS NOT NULL) NOT VALID;
        """
    )
    await connection.close()
    assert sorted(await inspection.differences(url, WITH_BOOKS)) == [
        "The column full_name of users is nullable, and declared as NOT NULL.",
        'The column name of tenants is VARCHAR(10), and declared as TEXT COLLATE "C".',
        "The constraint category_id_is_set of products is not declared, and refuses rows that are allowed now.",
        "The constraint fk_reviews_product_id of reviews is missing.",
        "The index ix_books_category_id of books is missing.",
        "The index ix_books_order of books is missing.",
        "The index uq_books_title of books is missing.",
        "The index uq_categories_name of categories is missing.",
        "The index uq_products_price of products is not declared, and refuses rows that are allowed now.",
        "The table books is missing.",
        "The table products lacks the column stock.",
    ]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("ALTER TABLE products DISABLE ROW LEVEL SECURITY", "Row-level security of products is off"),
        ("ALTER TABLE products NO FORCE ROW LEVEL SECURITY", "Row-level security of products is off"),
        ("DROP POLICY tenant_rows ON memberships", "The policy tenant_rows of memberships is missing"),
        (
            "ALTER POLICY tenant_rows ON products USING (true)",
            "The policy tenant_rows of products is missing",
        ),
        ("CREATE POLICY extra ON products USING (true)", "The policy extra of products is not declared"),
        ("ALTER TABLE row_history_rest DISABLE ROW LEVEL SECURITY", "Row-level security of row_history_rest is off"),
        ("GRANT SELECT ON row_history_rest TO tenantry_service", "may read row_history_rest by itself"),
        ("GRANT TRUNCATE ON products TO tenantry_service", "may empty products"),
    ],
)
async def test_a_gap_in_row_level_security_is_reported(
    new_database: NewDatabase, registry: Registry, statement: str, told: str
) -> None:
    url = await new_database()
    assert (await inspection.examined(url, registry)).gaps == []
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    (gap,) = (await inspection.examined(url, registry)).gaps
    assert told in gap.told
    await connection.execute(gap.mend)
    await connection.close()
    assert (await inspection.examined(url, registry)).gaps == []


async def test_a_database_is_marked_without_running_migrations(empty: str, registry: Registry) -> None:
    """Such a database has its tables from elsewhere. The service may read its version afterwards."""
    await inspection.stamp(empty, registry, "0001")
    assert await inspection.current(empty, registry) == ["0001"]
    with pytest.raises(MigrationRefused, match="No migration has the revision 0999: see"):
        await inspection.stamp(empty, registry, "0999")
    await inspection.stamp(empty, registry, "heads")
    connection = await asyncpg.connect(empty, server_settings={"role": ROLE})
    try:
        assert await connection.fetchval("SELECT version_num FROM alembic_version") == heads_of([VERSIONS])[0]
        assert await connection.fetchval("SELECT to_regclass('users')") is None
    finally:
        await connection.close()


@pytest.mark.promise(
    "migrations, databases and replicas: a database at a revision that no file knows is told with the setting that "
    "differs, by serve, check, migrate, --check and --sql; the command that is recommended works"
)
async def test_a_database_at_an_unknown_migration_is_refused(new_database: NewDatabase, registry: Registry) -> None:
    url = await new_database()
    connection = await asyncpg.connect(url)
    for revision, said in (("20261123035248", f"{UNKNOWN} 20261123035248."), ("0999", f"{NEWER} 0999.")):
        await connection.execute("UPDATE alembic_version SET version_num = $1", revision)
        (sentence,) = await pending(url, registry)
        assert sentence.startswith(said)
        for command in (upgrade, inspection.current, inspection.differences):
            with pytest.raises(MigrationRefused, match=said):
                await command(url, registry)
    await connection.close()


@pytest.mark.promise(
    "migrations, common changes: a file that cannot be applied is named with its line and leaves nothing behind"
)
async def test_a_migration_that_the_server_refuses_leaves_no_trace(empty: str, registry: Registry) -> None:
    connection = await asyncpg.connect(empty)
    await connection.execute("CREATE TABLE products (id int)")
    with pytest.raises(MigrationRefused, match=r"0002_example_catalogue\.py, line \d+, cannot be applied.*products"):
        await upgrade(empty, registry)
    assert await connection.fetchval("SELECT to_regclass('users')") is None
    await connection.close()
