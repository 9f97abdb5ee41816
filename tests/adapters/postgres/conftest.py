"""The database that the tests of migrations of one worker use one after the other."""

from pathlib import Path

import pytest

from tests.adapters.postgres.migrations.changed_books import TABLES, Books
from tests.conftest import NewDatabase
from tests.servers.databases import named

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
