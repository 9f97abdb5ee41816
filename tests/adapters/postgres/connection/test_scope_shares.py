"""A scope that holds its connections for long leaves some to the others, and its requests wait for each other."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.connection.shares import ScopeShares
from adapters.postgres.connection.waiting import PoolBusy
from adapters.postgres.database import PostgresDatabase
from application.ports.database import ASKED_BY
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from domain.scope import EveryTenant, OneTenant, Scope
from tests.builders import new_id
from tests.waiting import HUNG_AFTER

ONE, OTHER, EVERY = OneTenant(new_id()), OneTenant(new_id()), EveryTenant()
SHARE = 3
"""Connections of a tenant where the database has four."""


@pytest.fixture
async def four_connections(
    postgres: PostgresDatabase, database_url: str, registry: Registry
) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=4)
    await database.open()
    yield database
    await database.close()


async def answer(database: PostgresDatabase, scope: Scope) -> int:
    async with database.read_only(scope) as read:
        return int(await read.connection.fetchval("SELECT 1"))


async def hold(database: PostgresDatabase, stack: AsyncExitStack, scope: Scope = ONE) -> None:
    """Takes as many connections as the scope may have, by sessions of each kind."""
    for lent in (database.read_only(scope), database.autocommit(scope), database.transaction(scope)):
        await stack.enter_async_context(lent)


@pytest.mark.parametrize(("connections", "share"), [(2, 2), (3, 3), (4, 3), (20, 15), (100, 75)])
def test_a_quarter_stays_for_others(connections: int, share: int) -> None:
    shares = ScopeShares(connections)
    assert sum(shares.is_taken("one") for _ in range(connections)) == share


def test_scopes_that_want_all_leave_some_to_others() -> None:
    shares, wanted = ScopeShares(20), ("one", "two", "three")
    taken = [scope for _ in range(20) for scope in wanted if shares.is_taken(scope)]
    assert [taken.count(scope) for scope in wanted] == [6, 6, 6]
    assert shares.is_taken("four")
    # what runs is not taken back: who comes late has three for each that is free, and one in any case
    shares = ScopeShares(20)
    assert [sum(shares.is_taken(scope) for _ in range(20)) for scope in (*wanted, "four", "five")] == [15, 4, 1, 1, 1]


async def test_a_place_goes_to_the_scope_that_gave_it_back_unless_it_has_more_than_its_share() -> None:
    shares, served = ScopeShares(20), list[str]()

    async def served_as(scope: str) -> None:
        await shares.turn(scope, HUNG_AFTER)
        served.append(scope)

    async def give_back(scope: str) -> list[str]:
        served.clear()
        shares.give_back(scope)
        for _ in range(3):
            await asyncio.sleep(0)
        return list(served)

    for _ in range(15):
        assert shares.is_taken("early")
    assert sum(shares.is_taken("late") for _ in range(20)) == 4
    tasks = [asyncio.create_task(served_as(scope)) for scope in ("early", "late") * 12]
    await asyncio.sleep(0)
    # the early one has more than its share until both have nine, and keeps its own from then on
    assert [await give_back("early") for _ in range(6)] == [["late"], ["late"], [], ["late"], ["late"], ["late"]]
    assert [await give_back(scope) for scope in ("early", "late", "early")] == [["early"], ["late"], ["early"]]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert shares.number() == 0


@pytest.mark.parametrize(("greedy", "other"), [(ONE, OTHER), (ONE, EVERY), (EVERY, ONE)])
async def test_a_scope_with_its_share_stops_no_other(
    four_connections: PostgresDatabase, greedy: Scope, other: Scope
) -> None:
    async with AsyncExitStack() as stack, asyncio.timeout(HUNG_AFTER):
        await hold(four_connections, stack, greedy)
        waiting = asyncio.create_task(answer(four_connections, greedy))
        await asyncio.sleep(0)
        assert await answer(four_connections, other) == 1
        assert await four_connections.is_ready()
        assert not waiting.done()
        assert four_connections.load().waiting == 1
        await stack.aclose()
        assert await waiting == 1
    assert four_connections.load().waiting == 0


async def test_administration_of_a_tenant_uses_the_share_of_that_tenant_and_blocks_no_login(
    four_connections: PostgresDatabase,
) -> None:
    async with AsyncExitStack() as stack, asyncio.timeout(HUNG_AFTER):
        asked = ASKED_BY.set(ONE.id)
        await hold(four_connections, stack, EVERY)
        administration = asyncio.create_task(answer(four_connections, EVERY))
        ASKED_BY.reset(asked)
        rows = asyncio.create_task(answer(four_connections, ONE))
        await asyncio.sleep(0)
        assert await answer(four_connections, EVERY) == 1
        assert four_connections.load().waiting == 2
        await stack.aclose()
        assert (await administration, await rows) == (1, 1)


async def test_who_waits_for_a_turn_is_refused_when_the_database_is_closed(four_connections: PostgresDatabase) -> None:
    async with AsyncExitStack() as stack, asyncio.timeout(HUNG_AFTER):
        await hold(four_connections, stack)
        waiting = asyncio.create_task(answer(four_connections, ONE))
        await asyncio.sleep(0)
        closing = asyncio.create_task(four_connections.close())
        with pytest.raises(ServiceUnavailable, match="is being closed"):
            await waiting
        assert not closing.done()
        await stack.aclose()
        await closing


async def test_a_request_that_waits_too_long_for_its_turn_is_refused_with_pool_busy() -> None:
    shares = ScopeShares(1)
    assert shares.is_taken("one")
    with pytest.raises(PoolBusy):
        await shares.turn("one", 0.0)
    assert shares.number() == 0
    shares.give_back("one")
    assert shares.is_taken("one")


async def test_requests_that_give_up_and_fail_leave_no_place_taken(four_connections: PostgresDatabase) -> None:
    for _ in range(2 * SHARE):
        async with AsyncExitStack() as stack:
            await hold(four_connections, stack)
            waiting = [asyncio.create_task(answer(four_connections, ONE)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[1].cancel()
        # the first one is cancelled in the moment in which it is handed its place
        waiting[0].cancel()
        await asyncio.wait(waiting, timeout=HUNG_AFTER)
        assert waiting[2].result() == 1
        with pytest.raises(ZeroDivisionError):
            async with four_connections.transaction(ONE):
                raise ZeroDivisionError
    async with AsyncExitStack() as stack:
        await hold(four_connections, stack)
    assert await asyncio.gather(*(answer(four_connections, ONE) for _ in range(20))) == [1] * 20


async def test_places_are_handed_on_in_the_order_in_which_they_were_asked_for() -> None:
    shares, served = ScopeShares(1), list[int]()

    async def served_as(number: int) -> None:
        await shares.turn("one", HUNG_AFTER)
        served.append(number)
        shares.give_back("one")

    assert shares.is_taken("one")
    assert not shares.is_taken("one")
    assert shares.is_taken("other")
    tasks = [asyncio.create_task(served_as(number)) for number in range(3)]
    await asyncio.sleep(0)
    assert shares.number() == 3
    shares.give_back("one")
    await asyncio.gather(*tasks)
    assert served == [0, 1, 2]
    assert shares.number() == 0
    assert shares.is_taken("one")
