"""PostgresDatabase: what happens to connections when things go wrong.

URLs with several hosts: the primary is found, past hosts that are away, silent or standbys.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, suppress

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.connection.connecting import connect, hosts_of
from adapters.postgres.database import Patience, PostgresDatabase
from domain.entities.declaration import Registry
from domain.errors import InternalError, SerializationConflict, ServiceUnavailable
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id, user
from tests.servers.databases import named
from tests.waiting import HUNG_AFTER

EVERY = EveryTenant()


@pytest.fixture
async def single(postgres: PostgresDatabase, database_url: str, registry: Registry) -> AsyncIterator[PostgresDatabase]:
    """One connection and little patience."""
    patience = Patience(acquire=0.2, connect=HUNG_AFTER, statement=2)
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=1, patience=patience)
    await database.open()
    yield database
    await database.close()


async def backend(database: PostgresDatabase) -> int:
    async with database.read_only(EVERY) as read:
        return int(await read.connection.fetchval("SELECT pg_backend_pid()"))


async def test_it_is_ready_when_its_migrations_are_current(postgres: PostgresDatabase) -> None:
    assert await postgres.is_ready()


async def test_a_database_that_is_away_is_unavailable_and_not_ready(database_url: str, registry: Registry) -> None:
    database = PostgresDatabase("postgresql://nobody@127.0.0.1:1/none", registry, CountingIds())
    await database.open()
    with pytest.raises(ServiceUnavailable):
        async with database.read_only(EVERY):
            pass
    assert not await database.is_ready()
    await database.close()


async def test_it_recovers_when_its_connections_were_cut(
    single: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    before = await backend(single)
    await owner.execute("SELECT pg_terminate_backend($1, 5000)", before)
    after = [await backend_or_none(single) for _ in range(3)]
    assert after[-1] not in (None, before)


async def backend_or_none(database: PostgresDatabase) -> int | None:
    try:
        return await backend(database)
    except ServiceUnavailable:
        return None


async def test_a_connection_that_is_cut_in_a_transaction_is_unavailable(
    single: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:

    async def write() -> None:
        async with single.transaction(EVERY) as tx:
            own = await tx.connection.fetchval("SELECT pg_backend_pid()")
            await owner.execute("SELECT pg_terminate_backend($1, 5000)", own)
            await tx.users.add(user())

    with pytest.raises(ServiceUnavailable):
        await write()
    assert await single.is_ready()


async def test_waiting_for_a_connection_ends(single: PostgresDatabase) -> None:
    async with single.read_only(EVERY):
        with pytest.raises(ServiceUnavailable):
            await backend(single)
    assert await single.is_ready()


async def test_a_statement_that_runs_too_long_is_cancelled(single: PostgresDatabase) -> None:
    with pytest.raises(ServiceUnavailable):
        async with single.transaction(EVERY) as tx:
            await tx.connection.fetchval("SELECT pg_sleep(30)")
    assert await single.is_ready()


async def test_a_cancelled_transaction_leaves_nothing_behind(single: PostgresDatabase) -> None:
    started = asyncio.Event()
    ada = user()

    async def work() -> None:
        async with single.transaction(EVERY) as tx:
            await tx.users.add(ada)
            started.set()
            await tx.connection.fetchval("SELECT pg_sleep(0.2)")

    task = asyncio.create_task(work())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with single.read_only(EVERY) as read:
        assert not read.connection.is_in_transaction()
        assert await read.users.state(ada.id) is None


async def test_a_transaction_with_a_suppressed_failure_is_not_committed(postgres: PostgresDatabase) -> None:

    async def swallow() -> None:
        async with postgres.transaction(EVERY) as tx:
            with suppress(asyncpg.DivisionByZeroError):
                await tx.connection.execute("SELECT 1 / 0")

    with pytest.raises(InternalError):
        await swallow()


async def test_a_deadlock_is_worth_another_try(postgres: PostgresDatabase) -> None:
    first, other = user(), user()
    async with postgres.transaction(EVERY) as tx:
        for account in (first, other):
            await tx.users.add(account)
    held = asyncio.Barrier(2)

    async def change(first: object, second: object) -> None:
        async with postgres.transaction(EVERY) as tx:
            await tx.connection.execute("UPDATE users SET full_name = 'x' WHERE id = $1", first)
            await held.wait()
            await tx.connection.execute("UPDATE users SET full_name = 'x' WHERE id = $1", second)

    results = await asyncio.gather(change(first.id, other.id), change(other.id, first.id), return_exceptions=True)
    assert [type(result) for result in results if result is not None] == [SerializationConflict]


async def test_reading_again_in_the_same_tenant_says_the_scope_once(single: PostgresDatabase) -> None:
    async with single.read_only(OneTenant(new_id())) as read:
        connection, scope = read.connection, OneTenant(new_id())
        sent: list[str] = []
        with connection.query_logger(lambda query: sent.append(query.query)):
            await connection.show(scope, read_only=True)
            await connection.show(scope, read_only=True)
            await connection.begin(scope)
            await connection.commit()
            await connection.show(scope, read_only=True)
        await asyncio.sleep(0)  # the driver tells the logger in the next turn of the loop
    once = f"SET tenantry.scope = '{scope.id}'; SET default_transaction_read_only = on"
    assert sent == [once, "BEGIN READ WRITE", "COMMIT"]


async def test_stored_times_have_microsecond_precision(postgres: PostgresDatabase) -> None:
    ada = user(created_at=NOW)
    async with postgres.transaction(EVERY) as tx:
        await tx.users.add(ada)
        state = await tx.users.state(ada.id)
    assert state is not None
    assert state.user.created_at == NOW


async def test_a_database_with_all_connections_in_use_is_ready(single: PostgresDatabase) -> None:
    assert await single.is_ready()
    async with single.read_only(EVERY):
        assert await single.is_ready()


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://h/d", [("h", 5432)]),
        ("postgresql:///d", [("", 5432)]),
        ("postgresql:///d?host=/run/postgresql&port=5433", [("/run/postgresql", 5433)]),
        ("postgresql:///d?host=a,b", [("a", 5432), ("b", 5432)]),
        ("postgresql:///d?host=a,b&port=1,2", [("a", 1), ("b", 2)]),
        ("postgresql://u:p@a:1,b:2/d?target_session_attrs=primary", [("a", 1), ("b", 2)]),
        ("postgresql://u:p,q@a,b:2/d", [("a", 5432), ("b", 2)]),
        ("postgresql://[::1]:1,[::2]/d", [("::1", 1), ("::2", 5432)]),
    ],
)
def test_hosts_are_read(url: str, hosts: list[tuple[str, int]]) -> None:
    assert hosts_of(url) == hosts


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        yield server


def port_of(server: socket.socket) -> int:
    port: int = server.getsockname()[1]
    return port


def accepted(server: socket.socket) -> int:
    """How many have come to the server."""
    number = 0
    with suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            number += 1
    return number


@pytest.fixture
def refusing() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture
async def here(database_url: str) -> tuple[str, int]:
    """Host and port of the server of the tests."""
    (found,) = hosts_of(database_url)
    return found


@pytest.mark.promise("scale, failover: Hosts that are away or silent are passed by")
async def test_a_host_that_is_away_or_silent_is_passed_by(
    database_url: str, here: tuple[str, int], silent: socket.socket, refusing: int
) -> None:
    host, port = here
    user, at, _ = database_url.partition("://")[2].rpartition("@")
    hosts = f"host=127.0.0.1,127.0.0.1,{host}&port={port_of(silent)},{refusing},{port}"
    url = f"postgresql://{user}{at}/{named(database_url)}?{hosts}"
    for _ in range(2):
        connection = await connect(url, timeout=HUNG_AFTER)
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
    assert accepted(silent) == 1  # the second time it begins with the host that was good


async def test_connecting_raises_the_error_of_the_last_host_when_every_host_fails(
    silent: socket.socket, refusing: int
) -> None:
    with pytest.raises((OSError, asyncpg.PostgresError)):
        await connect(f"postgresql://u@127.0.0.1:{refusing},127.0.0.1:{refusing}/d", timeout=HUNG_AFTER)
    with pytest.raises(TimeoutError):
        await connect(f"postgresql://u@127.0.0.1:{refusing},127.0.0.1:{port_of(silent)}/d", timeout=0.5)
