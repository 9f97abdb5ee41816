"""Who gets which connection: one that shows the right rows if there is one, nobody waits for ever, none is lost."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from random import Random

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.connection.pool import RESTS
from adapters.postgres.connection.waiting import PASSED_OVER, PoolBusy, WaitingRequests
from adapters.postgres.database import Patience, PostgresDatabase
from application.ports.load import PoolLoad
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from domain.scope import OneTenant, Scope
from tests.adapters.postgres.connection.proxy import CuttingProxy
from tests.builders import new_id
from tests.waiting import HUNG_AFTER, until

ONE, OTHER = OneTenant(new_id()), OneTenant(new_id())


@pytest.fixture
async def two_connections(
    postgres: PostgresDatabase, database_url: str, registry: Registry
) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(
        database_url, registry, CountingIds(), connections=2, patience=Patience(acquire=HUNG_AFTER)
    )
    await database.open()
    yield database
    await database.close()


async def backend(database: PostgresDatabase, scope: Scope) -> int:
    async with database.read_only(scope) as read:
        return int(await read.connection.fetchval("SELECT pg_backend_pid()"))


async def shown(database: PostgresDatabase, scope: Scope) -> str:
    async with database.read_only(scope) as read:
        return str(await read.connection.fetchval("SELECT current_setting('tenantry.scope')"))


async def test_each_tenant_comes_back_to_the_connection_that_shows_it(two_connections: PostgresDatabase) -> None:
    async with two_connections.read_only(ONE) as read:
        of_one = int(await read.connection.fetchval("SELECT pg_backend_pid()"))
        of_other = await backend(two_connections, OTHER)
    assert of_one != of_other
    for _ in range(3):
        assert (await backend(two_connections, ONE), await backend(two_connections, OTHER)) == (of_one, of_other)


async def test_a_request_waits_for_the_busy_connection_of_its_scope_while_others_are_idle(
    two_connections: PostgresDatabase,
) -> None:
    async with two_connections.read_only(ONE), two_connections.read_only(OTHER):
        pass
    of_one = await backend(two_connections, ONE)
    async with two_connections.read_only(ONE):
        waiting = asyncio.create_task(backend(two_connections, ONE))
        await asyncio.sleep(0)
    assert await waiting == of_one


async def test_a_request_that_waits_too_long_for_its_own_scope_uses_another_connection(
    two_connections: PostgresDatabase,
) -> None:
    async with two_connections.read_only(ONE):
        of_other = await backend(two_connections, OTHER)
        assert await backend(two_connections, ONE) == of_other


async def test_a_waiting_request_may_open_a_connection_when_others_use_the_idle_ones(
    postgres: PostgresDatabase, database_url: str, registry: Registry
) -> None:
    """Of three places one is free; nobody comes back."""
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=3)
    await database.open()
    async with database.read_only(ONE):
        await shown(database, OTHER)  # the second rests
        waiting = asyncio.create_task(backend(database, ONE))
        await asyncio.sleep(0)
        async with database.read_only(OTHER), asyncio.timeout(HUNG_AFTER):
            assert await waiting
    await database.close()


async def test_the_last_connection_of_a_scope_is_not_reused_while_other_scopes_have_two(
    postgres: PostgresDatabase, database_url: str, registry: Registry
) -> None:
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=3)
    await database.open()
    async with database.read_only(ONE), database.read_only(ONE):
        of_other = await backend(database, OTHER)  # which rests longest of all
    assert await backend(database, OneTenant(new_id())) != of_other
    assert await backend(database, OTHER) == of_other
    await database.close()


async def test_the_load_reports_connections_in_use_and_waiting_requests(two_connections: PostgresDatabase) -> None:
    assert two_connections.load() == PoolLoad(most=2)
    async with two_connections.read_only(ONE), two_connections.read_only(OTHER):
        waiting = [asyncio.create_task(shown(two_connections, scope)) for scope in (ONE, OTHER, ONE)]
        await asyncio.sleep(0)
        assert two_connections.load() == PoolLoad(in_use=2, idle=0, most=2, waiting=3)
    await asyncio.gather(*waiting)
    assert two_connections.load() == PoolLoad(in_use=0, idle=2, most=2, waiting=0)


async def test_every_request_sees_its_tenant_and_no_more_connections_are_opened(
    two_connections: PostgresDatabase,
) -> None:
    scopes, chance = [OneTenant(new_id()) for _ in range(7)], Random(1)
    asked = [chance.choice(scopes) for _ in range(300)]
    assert await asyncio.gather(*(shown(two_connections, scope) for scope in asked)) == [
        str(scope.id) for scope in asked
    ]
    assert len(set(await asyncio.gather(*(backend(two_connections, scope) for scope in asked)))) <= 2


async def test_a_waiting_request_is_passed_over_a_limited_number_of_times() -> None:
    """Requests of another scope that come again and again pass a request over so often, and no more."""
    waiting, served = WaitingRequests(), list[str]()

    async def wait(state: str) -> None:
        await waiting.wait(state, HUNG_AFTER, stays=True, takes_any=True, unwanted=lambda *_: None)
        served.append(state)

    tasks = [asyncio.create_task(wait(state)) for state in ("other", *["one"] * 3 * PASSED_OVER)]
    await asyncio.sleep(0)  # all of them wait now
    while waiter := waiting.next_for("one", hoped_for=lambda _: True):
        waiter.given.set_result(None)
    await asyncio.gather(*tasks)
    assert served.index("other") == PASSED_OVER


async def test_no_connection_is_lost_when_waiting_requests_are_cancelled(two_connections: PostgresDatabase) -> None:
    """Some before they are given one, some in the same turn of the loop, some in the middle of a statement."""
    chance = Random(2)
    for _ in range(20):
        tasks = [asyncio.create_task(shown(two_connections, chance.choice([ONE, OTHER]))) for _ in range(12)]
        for _ in range(chance.randrange(12)):
            await asyncio.sleep(0)
        for task in chance.sample(tasks, 8):
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(result, (str, asyncio.CancelledError)) for result in results), results
    async with two_connections.read_only(ONE), two_connections.read_only(OTHER):
        pass


async def test_closing_waits_for_what_is_in_use_and_refuses_the_rest(two_connections: PostgresDatabase) -> None:
    async with two_connections.read_only(ONE) as read, two_connections.read_only(OTHER):
        waiting = asyncio.create_task(shown(two_connections, ONE))
        await asyncio.sleep(0)
        closing = asyncio.create_task(two_connections.close())
        with pytest.raises(ServiceUnavailable):
            await waiting
        assert await read.connection.fetchval("SELECT 1") == 1
        assert not closing.done()
    await closing
    with pytest.raises(ServiceUnavailable):
        await shown(two_connections, ONE)


async def test_a_place_that_could_not_be_filled_is_not_lost(registry: Registry) -> None:
    database = PostgresDatabase("postgresql://nobody@127.0.0.1:1/none", registry, CountingIds(), connections=1)
    await database.open()
    answers = await asyncio.gather(*(shown(database, ONE) for _ in range(6)), return_exceptions=True)
    assert [type(answer) for answer in answers] == [ServiceUnavailable] * 6
    await database.close()


async def test_traffic_outlives_a_server_that_cuts_all_connections(
    two_connections: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """Requests fail while it is away, and only with ServiceUnavailable; afterwards none has lost its place."""
    scopes, chance = [OneTenant(new_id()) for _ in range(5)], Random(3)
    failed: list[BaseException] = []
    is_over = False

    async def ask() -> None:
        while not is_over:
            scope = chance.choice(scopes)
            try:
                assert await shown(two_connections, scope) == str(scope.id)
            except ServiceUnavailable as error:
                failed.append(error)
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(20):
            tasks.create_task(ask())
        for _ in range(10):
            await asyncio.sleep(0.02)
            await owner.fetch(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'tenantry' AND datname = current_database()"
            )
        is_over = True
    assert failed
    async with two_connections.read_only(ONE), two_connections.read_only(OTHER):
        pass
    pids = await asyncio.gather(*(backend(two_connections, scope) for scope in scopes * 20))
    assert len(set(pids)) <= 2


async def test_a_server_that_vanished_holds_one_request_and_not_one_for_each_connection(
    postgres: PostgresDatabase, database_url: str, registry: Registry
) -> None:
    patience = Patience(acquire=HUNG_AFTER, connect=HUNG_AFTER, statement=1.0, mend=0.3)
    async with CuttingProxy(database_url) as proxy:
        database = PostgresDatabase(proxy.url, registry, CountingIds(), connections=4, patience=patience)
        await database.open()
        pool = database._pool
        assert pool is not None
        pool.rests = 0.0

        async def kept_by_the_driver() -> int:
            return pool.pool.get_idle_size()

        async def held() -> int:
            return database.load().in_use + database.load().idle

        async with database.read_only(ONE), database.read_only(OTHER):
            pass
        pool._sweep()
        await until(kept_by_the_driver, 2)
        pool.rests = RESTS
        await shown(database, ONE)  # one rests, the other is with the driver
        proxy.strand()
        with pytest.raises(ServiceUnavailable):
            await shown(database, ONE)
        await until(held, 0)
        assert [await shown(database, scope) for scope in (ONE, OTHER, ONE)] == [str(s.id) for s in (ONE, OTHER, ONE)]
        await database.close()


async def test_an_idle_connection_returns_to_the_driver_and_is_reused(
    two_connections: PostgresDatabase,
) -> None:
    pool = two_connections._pool
    assert pool is not None
    pool.rests = 0.02
    of_one = await backend(two_connections, ONE)
    async with asyncio.timeout(HUNG_AFTER):
        while pool.pool.get_idle_size() == 0:  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.01)
    assert await backend(two_connections, ONE) == of_one


async def test_a_request_that_waited_in_vain_leaves_nothing_behind() -> None:
    """Nothing for the collector of circles: under load this happens hundreds of times a second."""
    waiting, left = WaitingRequests(), list[weakref.ref[PoolBusy]]()

    async def wait_in_vain() -> None:
        try:
            await waiting.wait("", 0.001, stays=True, takes_any=True, unwanted=lambda given, waiter: None)
        except PoolBusy as error:
            left.append(weakref.ref(error))

    gc.disable()
    try:
        await wait_in_vain()
        await asyncio.sleep(0)  # the loop holds the future for as long as the turn that it woke lasts
        assert [reference() for reference in left] == [None]
    finally:
        gc.enable()
    assert waiting.number() == 0
