"""Errors of the driver: a lost connection is an outage, a faulty statement is not."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.connection.codecs import set_codecs
from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.connection.failures import is_away, prepared, translated
from adapters.postgres.database import Patience, PostgresDatabase
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from domain.scope import EveryTenant, OneTenant
from tests.adapters.postgres.connection.proxy import CuttingProxy
from tests.builders import new_id
from tests.waiting import HUNG_AFTER

EVERY, HERE = EveryTenant(), OneTenant(new_id())
WAYS = ("read_only", "autocommit", "transaction")


async def _two_at_once(connection: ServiceConnection) -> None:
    slow = asyncio.create_task(connection.fetchval("SELECT pg_sleep(0.2)"))
    await asyncio.sleep(0)
    try:
        await connection.fetchval("SELECT 1")
    finally:
        await slow


async def _of_no_file(_: ServiceConnection) -> None:
    raise FileNotFoundError("/nothing")


FAULTS: dict[str, tuple[Callable[[ServiceConnection], Awaitable[object]], type[Exception]]] = {
    "an argument too few": (lambda c: c.fetch("SELECT $1::int"), asyncpg.InterfaceError),
    "an argument of another type": (lambda c: c.fetch("SELECT $1::int", "a"), asyncpg.DataError),
    "a number that the driver cannot send": (lambda c: c.fetch("SELECT $1::int", 2**40), asyncpg.DataError),
    "two statements at once": (_two_at_once, asyncpg.InterfaceError),
    "a statement with a mistake": (lambda c: c.fetch("SELEKT 1"), asyncpg.PostgresSyntaxError),
    "an unknown column": (lambda c: c.fetch("SELECT nothing FROM users"), asyncpg.UndefinedColumnError),
    "a value that the server refuses": (lambda c: c.fetch("SELECT 'a'::int"), asyncpg.PostgresError),
    "a division by zero": (lambda c: c.fetch("SELECT 1/0"), asyncpg.PostgresError),
    "a file that is not there": (_of_no_file, FileNotFoundError),
}


@pytest.mark.promise(
    "declarations, internal errors: every fault of a statement or the driver, InterfaceError included, is a 500 that "
    "is logged with its trace and tells nothing"
)
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("way", ["read_only", "transaction"])
async def test_a_faulty_statement_does_not_count_as_an_outage(postgres: PostgresDatabase, name: str, way: str) -> None:
    fault, error = FAULTS[name]
    with pytest.raises(error):
        async with getattr(postgres, way)(EVERY) as tx:
            await fault(tx.connection)
    assert await postgres.is_ready()


def test_a_transaction_that_may_be_committed_is_an_outage_and_is_not_tried_again() -> None:
    with pytest.raises(ServiceUnavailable) as raised, translated():
        raise asyncpg.StatementCompletionUnknownError("completion unknown")
    assert type(raised.value) is ServiceUnavailable


@pytest.mark.promise(
    "declarations, internal errors: a lost connection is a 503: cut, cut in the middle, closed as it is made, or silent"
)
async def test_a_connection_that_is_closed_as_it_is_made_is_an_outage(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    with pytest.raises(asyncpg.InterfaceError), prepared(connection):
        await connection.fetchval("SELECT $1::int")
    connection.terminate()
    with pytest.raises(ConnectionResetError) as closed, prepared(connection):
        await set_codecs(connection)
    assert is_away(closed.value, None)


@pytest.fixture
async def proxy(postgres: PostgresDatabase, database_url: str) -> AsyncIterator[CuttingProxy]:
    async with CuttingProxy(database_url) as proxy:
        yield proxy


@asynccontextmanager
async def opened(
    url: str,
    registry: Registry,
    patience: Patience = Patience(acquire=HUNG_AFTER, connect=2, statement=2, mend=0.1),  # noqa: B008  # is frozen
) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(url, registry, CountingIds(), connections=3, patience=patience)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def behind(proxy: CuttingProxy, registry: Registry) -> AsyncIterator[PostgresDatabase]:
    async with opened(proxy.url, registry) as database:
        yield database


@pytest.fixture
async def three_behind(proxy: CuttingProxy, registry: Registry) -> AsyncIterator[dict[str, PostgresDatabase]]:
    """One for each way, so that a test waits for all of them at once."""
    async with AsyncExitStack() as stack:
        yield {way: await stack.enter_async_context(opened(proxy.url, registry)) for way in WAYS}


async def ask(database: PostgresDatabase, *, within: str = "read_only", statement: str = "SELECT 1") -> object:
    async with getattr(database, within)(HERE) as tx:
        return await tx.connection.fetchval(statement)


@pytest.mark.promise(
    "declarations, internal errors: a lost connection is a 503: cut, cut in the middle, closed as it is made, or silent"
)
@pytest.mark.parametrize("way", WAYS)
async def test_a_connection_that_is_cut_is_an_outage(behind: PostgresDatabase, proxy: CuttingProxy, way: str) -> None:
    assert await ask(behind, within=way) == 1
    proxy.cut()
    with pytest.raises(ServiceUnavailable):
        await ask(behind, within=way)
    await proxy.resume()
    assert await ask(behind, within=way) == 1


@pytest.mark.promise(
    "declarations, internal errors: a lost connection is a 503: cut, cut in the middle, closed as it is made, or silent"
)
@pytest.mark.parametrize("way", WAYS)
async def test_a_connection_that_is_cut_in_the_middle_is_an_outage(
    behind: PostgresDatabase, proxy: CuttingProxy, way: str
) -> None:
    async def ask_twice() -> None:
        async with getattr(behind, way)(HERE) as tx:
            waiting = asyncio.create_task(tx.connection.fetchval("SELECT pg_sleep(30)"))
            await asyncio.sleep(0.02)
            proxy.cut()
            with suppress(Exception):
                await waiting
            # now the driver says InterfaceError, as it does for a wrong argument
            with pytest.raises(asyncpg.InterfaceError):
                await tx.connection.fetchval("SELECT 1")
            await tx.connection.fetchval("SELECT 1")

    with pytest.raises(ServiceUnavailable):
        await ask_twice()


@pytest.mark.promise(
    "declarations, internal errors: an outage of PostgreSQL is one warning when it begins and one when it ends"
)
async def test_an_outage_is_one_line_when_it_begins_and_one_when_it_ends(
    behind: PostgresDatabase, proxy: CuttingProxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await asyncio.gather(*(ask(behind) for _ in range(6)))
    for _ in range(2):
        proxy.cut()
        answers = await asyncio.gather(*(ask(behind) for _ in range(12)), return_exceptions=True)
        assert {type(answer) for answer in answers} == {ServiceUnavailable}
        await proxy.resume()
        assert await asyncio.gather(*(ask(behind) for _ in range(12))) == [1] * 12
    lines = [(record.levelname, record.getMessage().partition(" (")[0]) for record in caplog.records]
    begins, ends = ("WARNING", "PostgreSQL is away"), ("WARNING", "PostgreSQL answers again.")
    assert lines == [begins, ends] * 2


@pytest.mark.promise(
    "declarations, internal errors: a lost connection is a 503: cut, cut in the middle, closed as it is made, or silent"
)
async def test_a_server_that_is_silent_is_an_outage(
    three_behind: dict[str, PostgresDatabase], proxy: CuttingProxy, caplog: pytest.LogCaptureFixture
) -> None:
    for way, database in three_behind.items():
        await ask(database, within=way)
    proxy.pause()
    asked = (ask(database, within=way) for way, database in three_behind.items())
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [ServiceUnavailable] * len(WAYS)
    for database in three_behind.values():
        await database.close()  # waits for what is being mended
    # each of them tells it
    assert caplog.text.count("PostgreSQL is away (TimeoutError)") == len(WAYS)


async def test_a_silent_server_is_not_ready_before_a_statement_times_out(
    proxy: CuttingProxy, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    patience = Patience(acquire=HUNG_AFTER, statement=2 * HUNG_AFTER, mend=0.1, ready=0.1)
    async with opened(proxy.url, registry, patience) as database:
        async with asyncio.timeout(HUNG_AFTER):
            await ask(database)
            proxy.pause()
            assert not await database.is_ready()
    assert caplog.text.count("PostgreSQL is away (TimeoutError)") == 1


async def test_a_statement_timeout_on_a_responsive_server_does_not_count_as_an_outage(
    three_behind: dict[str, PostgresDatabase], caplog: pytest.LogCaptureFixture
) -> None:
    asked = (ask(database, within=way, statement="SELECT pg_sleep(30)") for way, database in three_behind.items())
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(answer) for answer in answers] == [ServiceUnavailable] * len(WAYS)
    for way, database in three_behind.items():
        assert await ask(database, within=way) == 1
        await database.close()
    assert caplog.text == ""


@pytest.mark.promise(
    "declarations, internal errors: an outage of PostgreSQL is one warning when it begins and one when it ends"
)
async def test_a_busy_pool_and_a_statement_timeout_do_not_count_as_an_outage(
    postgres: PostgresDatabase, database_url: str, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    # enough to make a connection on a busy machine, which the same patience waits for
    patience = Patience(acquire=1.0)
    single = PostgresDatabase(database_url, registry, CountingIds(), connections=1, patience=patience)
    await single.open()
    async with single.read_only(HERE):
        with pytest.raises(ServiceUnavailable):
            await ask(single)
    with pytest.raises(ServiceUnavailable):
        async with single.read_only(HERE) as read:
            await read.connection.execute("SET statement_timeout = 20; SELECT pg_sleep(30)")
    await single.close()
    assert "PostgreSQL" not in caplog.text
