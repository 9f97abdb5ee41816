"""Through PgBouncer: in session mode as without it, in transaction mode with all settings inside each transaction."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from adapters.postgres.connection.connecting import connect
from adapters.postgres.connection.poolers import Pooler, pooler_of
from adapters.postgres.database import Patience, PostgresDatabase
from adapters.system import Uuid7Ids
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from domain.scope import OneTenant
from entrypoints.server.preparation import ensure_fit_login
from entrypoints.settings.settings import read_settings
from entrypoints.terminal.errors import CommandError
from entrypoints.testing.app import SECRET_KEY
from tests.contracts.operations import test_metrics as contract
from tests.http.entities.isolation.isolation import PLURALS, Ground, ensure_absent_elsewhere, open_ground
from tests.servers.databases import create_database, drop_database
from tests.servers.postgres_servers import PgBouncer, PostgresServer, needs_pgbouncer

pytestmark = needs_pgbouncer

Bouncers = Callable[..., PgBouncer]


@pytest.fixture(scope="module")
def bouncer(folder: Path, primary: PostgresServer) -> Iterator[Bouncers]:
    started: list[PgBouncer] = []

    def start(mode: Any, servers: int = 20, options: str = "") -> PgBouncer:
        started.append(PgBouncer(folder / f"bouncer{len(started)}", primary, mode, servers, options).start())
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
async def emptied(primary: PostgresServer) -> str:
    """Name of a database of the test's own."""
    await drop_database(primary.url_of("pooled"))
    await create_database(primary.url, "pooled", primary.url_of("migrated"))
    return "pooled"


@pytest.fixture(params=["session", "transaction"])
async def pooled(
    request: pytest.FixtureRequest, bouncer: Bouncers, emptied: str, registry: Registry
) -> AsyncIterator[PostgresDatabase]:
    """The service's pool through fewer servers than it has connections, where the mode allows that."""
    mode: Pooler = request.param
    through = bouncer(mode, servers=3 if mode == "transaction" else 12)
    database = PostgresDatabase(through.url_of(emptied), registry, Uuid7Ids(), connections=10, pooler=mode)
    database.patience = Patience(acquire=50.0)  # hundreds wait for three servers
    await database.open()
    yield database
    await database.close()
    through.stop()


@pytest.mark.promise("scale, PgBouncer: a pooler that the settings do not name stops the start")
@pytest.mark.parametrize("servers", [1, 4])
@pytest.mark.parametrize("mode", ["session", "transaction"])
async def test_the_kind_of_pooler_before_the_server_is_detected(
    bouncer: Bouncers, primary: PostgresServer, mode: Pooler, servers: int
) -> None:
    assert await pooler_of(primary.url_of("tenantry")) == "none"
    for options in ("", "server_round_robin = 1"):
        through = bouncer(mode, servers, options)
        assert await pooler_of(through.url_of("tenantry")) == mode
        through.stop()


@pytest.mark.promise(
    "scale, PgBouncer: Tenants are kept apart through a pooler in either mode, also where they share few servers"
)
async def test_the_matrix_of_tenants_holds_through_it(pooled: PostgresDatabase, registry: Registry) -> None:
    ground: Ground = await open_ground(pooled, registry)
    for plural in PLURALS:
        await ensure_absent_elsewhere(ground, plural)
    await ground.app.client.aclose()


@pytest.mark.promise(
    "scale, PgBouncer: Tenants are kept apart through a pooler in either mode, also where they share few servers"
)
@pytest.mark.long
async def test_tenants_that_share_servers_never_see_each_other(
    pooled: PostgresDatabase, emptied: str, primary: PostgresServer
) -> None:
    tenants = [OneTenant(Uuid7Ids().new()) for _ in range(8)]
    owner = await asyncpg.connect(primary.url_of(emptied))
    for number, tenant in enumerate(tenants):
        named = (tenant.id, f"tenant-{number}")
        await owner.execute(
            "INSERT INTO tenants (id, name, identifier, created_at, settings) VALUES ($1, $2, $2, now(), '{}')", *named
        )
        await owner.execute(
            "INSERT INTO categories (tenant_id, id, name, created_at, updated_at, version)"
            " SELECT $1, gen_random_uuid(), $2 || n, now(), now(), 1 FROM generate_series(1, 5) AS n",
            *named,
        )
    await owner.close()
    # The statement names no tenant: row-level security alone decides what it sees.
    asked = (
        "SELECT array_agg(DISTINCT tenant_id) AS seen, count(*) AS number, current_user::text AS who FROM categories"
    )

    async def look(number: int) -> None:
        scope = tenants[number % len(tenants)]
        way = (pooled.read_only, pooled.autocommit, pooled.transaction)[number % 3]
        async with way(scope) as tx:
            row = await tx.connection.fetchrow(asked)
        assert row is not None
        assert (row["seen"], row["number"], row["who"]) == ([scope.id], 5, "tenantry_service")

    await asyncio.gather(*(look(number) for number in range(600)))


@pytest.mark.promise("scale, PgBouncer: Reads, single writes and transactions mean what they mean without one")
@pytest.mark.parametrize(
    "promise",
    [test for name, test in vars(contract).items() if name.startswith("test_")],
    ids=lambda test: test.__name__,
)
@pytest.mark.long
async def test_the_contract_of_the_database_holds(pooled: PostgresDatabase, promise: Callable[..., Any]) -> None:
    if [*inspect.signature(promise).parameters] == ["database"]:
        await promise(pooled)


@pytest.mark.promise("scale, PgBouncer: neither role nor tenant is left behind in a server, nor left out")
@pytest.mark.long
async def test_a_server_is_left_as_it_was_found(bouncer: Bouncers, emptied: str, registry: Registry) -> None:
    """Whoever gets a server of ours in transaction mode has neither our role nor our tenant."""
    through = bouncer("transaction", servers=1)
    database = PostgresDatabase(through.url_of(emptied), registry, Uuid7Ids(), connections=4, pooler="transaction")
    await database.open()
    for way in (database.read_only, database.autocommit, database.transaction):
        async with way(OneTenant(Uuid7Ids().new())) as tx:
            await tx.connection.fetchval("SELECT 1")
    other = await asyncpg.connect(through.url_of(emptied), statement_cache_size=0)
    asked = (
        "SELECT concat_ws(':', current_user, current_setting('tenantry.scope', true), current_setting('lock_timeout'))"
    )
    assert await other.fetchval(asked) == "tenantry::0"
    assert await other.fetchval("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'tenantry%'") == 0
    await other.close()
    with pytest.raises(ServiceUnavailable):
        async with database.session(OneTenant(Uuid7Ids().new())) as session:
            await session.connection()
    await database.close()
    through.stop()


@pytest.mark.promise("scale, PgBouncer: neither role nor tenant is left behind in a server, nor left out")
@pytest.mark.long
async def test_in_session_mode_the_role_is_always_set(bouncer: Bouncers) -> None:
    """A pooler may be told to pass by settings of the start: the service sets its role by a statement."""
    through = bouncer("session", options="ignore_startup_parameters = role,jit,lock_timeout")
    connection = await connect(
        through.url_of("tenantry"), pooler="session", server_settings={"role": "tenantry_service", "jit": "off"}
    )
    assert await connection.fetchval("SELECT current_user || current_setting('jit')") == "tenantry_serviceoff"
    await connection.close()


@pytest.mark.promise("scale, PgBouncer: a pooler that the settings do not name stops the start")
@pytest.mark.parametrize(("mode", "said"), [("session", "none"), ("transaction", "none"), ("transaction", "session")])
async def test_the_start_refuses_a_pooler_that_the_settings_do_not_name(
    bouncer: Bouncers, primary: PostgresServer, mode: Pooler, said: str
) -> None:
    through = bouncer(mode)
    given = {
        "DATABASE_URL": through.url_of("tenantry"),
        "DATABASE_OWNER_URL": primary.url_of("tenantry"),
        "DATABASE_POOLER": said,
        "SECRET_KEY": SECRET_KEY,
    }
    settings = read_settings({f"TENANTRY_{name}": value for name, value in given.items()})
    with pytest.raises(CommandError, match=f"TENANTRY_DATABASE_POOLER={mode}"):
        await ensure_fit_login(settings, allows_superuser=True)
    named = {f"TENANTRY_{name}": value for name, value in {**given, "DATABASE_POOLER": mode}.items()}
    await ensure_fit_login(read_settings(named), allows_superuser=True)
    through.stop()
