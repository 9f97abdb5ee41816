"""The role that the service logs in as: what no statement gets past, and how it is made.

Rights of the service's roles that somebody took away: told with their SQL, and granted again.

Locales: case-blindness is the same on every server that the service starts on.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.connection.locales import LETTERS, locale_mistake
from adapters.postgres.connection.login_roles import ensure_login_role, login_role
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations import inspection
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.migrations.pending import applied_versions, pending
from adapters.postgres.operations.pending_versions import PostgresPendingVersions
from adapters.postgres.schema.row_security import ROLE
from application.ports.entities.records import Act, NewRow
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.query.matching import without_case
from domain.entities.registry import build_registry
from domain.errors import ServiceUnavailable
from domain.scope import EveryTenant, OneTenant
from entrypoints.assembly.migrations import check_migrations, ensure_migrated
from entrypoints.settings.settings import read_settings
from entrypoints.terminal.errors import CommandError
from tests.builders import NOW, new_id, tenant
from tests.conftest import MakeDatabase, NewDatabase

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
LEAVING = [
    "SELECT set_config('role', 'none', false)",
    "SELECT set_config('role', session_user, false)",
    "SELECT set_config('role', (SELECT rolname FROM pg_roles WHERE rolsuper LIMIT 1), false)",
    "RESET ROLE",
    "SET SESSION AUTHORIZATION DEFAULT",
]


@pytest.fixture
async def plain_url(database_url: str, owner: "asyncpg.Connection[asyncpg.Record]") -> AsyncIterator[str]:
    """URL of a role that does not exist yet, and is dropped after the test."""
    name, parts = f"tenantry_plain_{uuid4().hex[:12]}", urlsplit(database_url)
    yield parts._replace(netloc=f"{name}:open%20sesame@{parts.netloc.rpartition('@')[2]}").geturl()
    await owner.execute(f'DROP ROLE IF EXISTS "{name}"')


@pytest.fixture
async def plain(
    postgres: PostgresDatabase, registry: Registry, database_url: str, plain_url: str
) -> AsyncIterator[PostgresDatabase]:
    """The service on a plain login role, with a category in each of two tenants."""
    await ensure_login_role(database_url, plain_url)
    database = PostgresDatabase(plain_url, registry, CountingIds(), connections=2)
    await database.open()
    for scope in (HERE, THERE):
        async with database.transaction(EveryTenant()) as tx:
            await tx.tenants.add(tenant(id=scope.id))
        async with database.transaction(scope) as tx:
            row = NewRow(new_id(), {"name": "Books", "description": None})
            await tx.records.add(registry["categories"], [row], Act(by=None, at=NOW))
    yield database
    await database.close()


async def seen(connection: "asyncpg.Connection[asyncpg.Record]") -> int | None:
    """Number of rows that are seen; None for a role that may not look."""
    try:
        count: int = await connection.fetchval("SELECT count(*) FROM categories")
    except asyncpg.InsufficientPrivilegeError:
        return None
    return count


@pytest.mark.promise(
    "security, row-level security: no statement of the service leaves row-level security: the role that it logs in as "
    "has no rights of its own"
)
@pytest.mark.parametrize("statement", LEAVING)
async def test_no_statement_leaves_row_level_security(plain: PostgresDatabase, statement: str) -> None:
    async with plain.autocommit(HERE) as tx:
        assert await seen(tx.connection) == 1
        with suppress(asyncpg.PostgresError):
            await tx.connection.execute(statement)
        assert await seen(tx.connection) in (1, None)
        await tx.connection.execute(f"SET ROLE {ROLE}")


@pytest.mark.promise(
    "security, row-level security: no statement of the service leaves row-level security: the role that it logs in as "
    "has no rights of its own"
)
async def test_a_superuser_would_leave_it_by_one_statement(plain: PostgresDatabase, database_url: str) -> None:
    assert (await login_role(database_url)).passes_row_security
    connection = await asyncpg.connect(database_url, server_settings={"role": ROLE})
    with pytest.raises(asyncpg.UndefinedObjectError):
        await seen(connection)
    await connection.execute(LEAVING[0])
    assert await seen(connection) == 2
    await connection.close()


@pytest.mark.promise("security, row-level security: the owner makes that role, and migrates")
async def test_the_owner_creates_a_login_role_without_administrative_rights(
    database_url: str, plain_url: str, registry: Registry
) -> None:
    # replicas that start together, and later starts
    await asyncio.gather(*(ensure_login_role(database_url, plain_url) for _ in range(3)))
    await ensure_login_role(database_url, plain_url)
    made = await login_role(plain_url)
    assert made.name == urlsplit(plain_url).username
    assert not made.passes_row_security
    assert await pending(plain_url, registry) == []
    assert await applied_versions(plain_url) == await applied_versions(database_url)


async def test_the_owner_needs_no_separate_login_role(database_url: str) -> None:
    await ensure_login_role(database_url, database_url)
    assert (await login_role(database_url)).server == urlsplit(database_url).hostname


TAKEN = [
    ("REVOKE ALL ON users FROM tenantry_service", "lacks rights (SELECT, INSERT, UPDATE, DELETE) on users."),
    ("REVOKE INSERT ON row_history FROM tenantry_service", "lacks rights (SELECT, INSERT) on row_history."),
    ("REVOKE ALL ON alembic_version FROM tenantry_service", "may not read alembic_version."),
    ("REVOKE USAGE ON SCHEMA public FROM tenantry_service, tenantry_search, PUBLIC", "may not use the schema public."),
    ("DROP POLICY searched_rows ON products", "lacks its functions, its policy or its rights on products."),
    ("REVOKE SELECT (sku) ON products FROM tenantry_search", "on products."),
    ('ALTER FUNCTION tenantry_search."products.sku"(text, integer) OWNER TO CURRENT_USER', "on products."),
    ("REVOKE USAGE ON SCHEMA tenantry_search FROM tenantry_service", "may not use the schema tenantry_search."),
    ("ALTER SCHEMA tenantry_search OWNER TO CURRENT_USER", "is not of the role tenantry_search."),
]


@pytest.fixture
async def migrated(new_database: NewDatabase) -> str:
    return await new_database()


@pytest.mark.parametrize(("statement", "told"), TAKEN)
async def test_a_missing_right_is_reported_and_granted_again(
    migrated: str, registry: Registry, statement: str, told: str
) -> None:
    assert await inspection.grant_rights(migrated, registry) == []
    connection = await asyncpg.connect(migrated)
    for mends_by_hand in (True, False):
        await connection.execute(statement)
        found = (await inspection.examined(migrated, registry)).gaps
        assert told in found[0].told
        if mends_by_hand:
            for gap in found:
                await connection.execute(gap.mend)
        else:
            assert await inspection.grant_rights(migrated, registry) == [gap.told for gap in found]
        assert (await inspection.examined(migrated, registry)).gaps == []
    await connection.close()


async def test_unreadable_token_versions_are_reported_as_unavailable(migrated: str, registry: Registry) -> None:
    connection = await asyncpg.connect(migrated)
    await connection.execute("REVOKE ALL ON revocation_counts FROM tenantry_service")
    await connection.close()
    pending = PostgresPendingVersions(migrated)
    with pytest.raises(ServiceUnavailable):
        await pending.due(0.0, 1)
    with pytest.raises(ServiceUnavailable):
        await pending.published({"users": 1})
    await pending.close()


C_LOCALE = "ENCODING 'UTF8' LOCALE 'C'"


async def test_the_locale_of_a_test_database_is_fine(database_url: str) -> None:
    assert await locale_mistake(database_url) is None


@pytest.mark.promise(
    "declarations, case folding: a locale or encoding by which É and é differ stops start and check with the remedy; a "
    "database in use is served with a warning"
)
async def test_a_database_with_locale_c_is_reported_with_the_remedy(make_database: MakeDatabase) -> None:
    mistake = await locale_mistake(await make_database(options=C_LOCALE))
    assert mistake is not None
    assert "has the locale C, for which É and é, Ω and ω, Ж and ж are not one letter" in mistake.sentence
    assert "TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'" in mistake.sentence


@pytest.mark.promise(
    "declarations, case folding: a locale or encoding by which É and é differ stops start and check with the remedy; a "
    "database in use is served with a warning"
)
async def test_an_encoding_that_lacks_most_letters_is_reported(make_database: MakeDatabase) -> None:
    mistake = await locale_mistake(await make_database(options="ENCODING 'SQL_ASCII' LOCALE 'C'"))
    assert mistake is not None
    assert "has the encoding SQL_ASCII" in mistake.sentence


@pytest.mark.promise(
    "declarations, case folding: a locale or encoding by which É and é differ stops start and check with the remedy; a "
    "database in use is served with a warning"
)
async def test_start_and_check_refuse_a_database_with_an_unsuitable_locale(make_database: MakeDatabase) -> None:
    url = await make_database(options=C_LOCALE)
    settings = read_settings({"TENANTRY_DATABASE_URL": url, "TENANTRY_SECRET_KEY": "a secret of thirty-two characters"})
    with pytest.raises(CommandError, match="has the locale C"):
        await ensure_migrated(settings, build_registry(ENTITIES))
    with pytest.raises(CommandError, match="has the locale C"):
        await check_migrations(settings)


@pytest.mark.promise(
    "declarations, case folding: a locale or encoding by which É and é differ stops start and check with the remedy; a "
    "database in use is served with a warning"
)
async def test_a_database_that_is_in_use_is_served_with_a_warning(
    make_database: MakeDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever has rows in such a database cannot move them within a start."""
    url, registry = await make_database(options=C_LOCALE), build_registry([*ENTITIES, *BUILTIN_ENTITIES])
    settings = read_settings({"TENANTRY_DATABASE_URL": url, "TENANTRY_SECRET_KEY": "a secret of thirty-two characters"})
    await upgrade(url, registry)
    await ensure_migrated(settings, registry)
    assert await check_migrations(settings) == "The database is up to date."
    assert [record.getMessage().count("has the locale C") for record in caplog.records] == [1, 1]


@pytest.mark.promise("declarations, case folding: the memory adapter folds the same letters")
def test_the_memory_adapter_folds_the_same_letters() -> None:
    assert {letter: without_case(letter) for letter in LETTERS} == LETTERS
