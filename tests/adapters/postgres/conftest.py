"""Databases of tests of migrations: one that tests of a worker use after each other, and those of older versions."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adapters.postgres.migrations.commands import run_command
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry
from tests.adapters.postgres.changed_books import TABLES, Books
from tests.conftest import MakeDatabase, NewDatabase
from tests.databases import named

DatabaseAt = Callable[[str], Awaitable[str]]

MADE = f"""
SELECT format('DROP TABLE %I CASCADE', relname) FROM ({TABLES} AND NOT relispartition) made WHERE relname <> ALL ($1)
UNION ALL
SELECT format('DROP FUNCTION %s CASCADE', oid::regprocedure) FROM pg_proc
WHERE pronamespace = 'tenantry_search'::regnamespace AND NOT oid = ANY ($2)"""
FUNCTIONS = "SELECT oid FROM pg_proc WHERE pronamespace = 'tenantry_search'::regnamespace"


class Cleaned:
    """A migrated database from which ``clean`` takes what a test has made beside the tables of the template."""

    def __init__(self, url: str) -> None:
        self.books = Books(url, Path())
        self.tables: list[str] = []
        self.functions: list[int] = []
        self.versions: list[str] = []

    async def remember(self) -> None:
        self.tables = [name for (name,) in await self.books.ask(TABLES)]
        self.functions = [oid for (oid,) in await self.books.ask(FUNCTIONS)]
        self.versions = [version for (version,) in await self.books.ask("SELECT version_num FROM alembic_version")]

    async def clean(self) -> None:
        made = [statement for (statement,) in await self.books.ask(MADE, self.tables, self.functions)]
        await self.books.run(
            f'ALTER DATABASE "{named(self.books.url)}" RESET ALL',
            *made,
            "DELETE FROM row_history",
            "DELETE FROM alembic_version",
            *(f"INSERT INTO alembic_version VALUES ('{version}')" for version in self.versions),
        )


@pytest.fixture(scope="session")
async def cleaned(new_database: NewDatabase) -> Cleaned:
    cleaned = Cleaned(await new_database())
    await cleaned.remember()
    return cleaned


@pytest.fixture
async def books(cleaned: Cleaned, tmp_path: Path) -> Books:
    """A migrated database without books, whose tables of the service and of the catalogue no test changes."""
    await cleaned.clean()
    return Books(cleaned.books.url, tmp_path)


@pytest.fixture(scope="session")
def database_at(make_database: MakeDatabase, registry: Registry) -> DatabaseAt:
    """Makes databases at a revision of ours: each after the first is a copy, and a later revision goes on from one."""
    made: dict[str, str] = {}

    async def make(revision: str) -> str:
        if revision not in made:
            earlier = max((known for known in made if known < revision), default=None)
            url = await make_database(made[earlier] if earlier else None)
            await run_command(url, metadata_for(registry), [VERSIONS], lambda commands: commands.upgrade(revision))
            made[revision] = url
        return await make_database(made[revision])

    return make
