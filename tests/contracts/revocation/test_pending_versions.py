"""Contract of PendingVersions: bumped versions that the shared copy may not know yet, as PostgreSQL keeps them."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.operations.pending_versions import PostgresPendingVersions
from domain.errors import Conflict, ServiceUnavailable
from domain.scope import EveryTenant
from tests.conftest import NewDatabase
from tests.waiting import HUNG_AFTER

ONE, OTHER = "user:one", "user:other"


@pytest.fixture
async def outbox(database_url: str, postgres: PostgresDatabase) -> AsyncIterator[PostgresPendingVersions]:
    outbox = PostgresPendingVersions(database_url)
    yield outbox
    await outbox.close()


async def test_a_database_without_tables_is_as_one_that_is_away(empty_database: NewDatabase) -> None:
    outbox = PostgresPendingVersions(await empty_database())
    try:
        with pytest.raises(ServiceUnavailable):
            await outbox.due(0, 9)
    finally:
        await outbox.close()


async def bump(database: PostgresDatabase, *subjects: str) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump(subjects)


async def test_a_bumped_version_is_due_until_it_is_published(
    postgres: PostgresDatabase, outbox: PostgresPendingVersions
) -> None:
    assert await outbox.due(0, 9) == {}
    await bump(postgres, ONE, OTHER)
    assert await outbox.due(0, 9) == {ONE: 1, OTHER: 1}
    await outbox.published({ONE: 1})
    assert await outbox.due(0, 9) == {OTHER: 1}
    await outbox.published({OTHER: 1, "user:unknown": 3})
    assert await outbox.due(0, 9) == {}


async def test_a_version_is_due_once_it_has_aged(postgres: PostgresDatabase, outbox: PostgresPendingVersions) -> None:
    await bump(postgres, ONE)
    assert await outbox.due(60, 9) == {}
    deadline = time.monotonic() + HUNG_AFTER
    while await outbox.due(0.05, 9) != {ONE: 1}:
        assert time.monotonic() < deadline


async def test_a_version_bumped_again_stays_due_since_the_first_time(
    postgres: PostgresDatabase, outbox: PostgresPendingVersions
) -> None:
    """However often it rises, somebody will look."""
    await bump(postgres, ONE)
    deadline = time.monotonic() + HUNG_AFTER
    while await outbox.due(0.2, 9) == {}:
        await bump(postgres, ONE)
        assert time.monotonic() < deadline
    due = await outbox.due(0.2, 9)
    await outbox.published({ONE: due[ONE] - 1})
    assert await outbox.due(0.2, 9) == due


async def test_of_many_the_longest_due_come_first(postgres: PostgresDatabase, outbox: PostgresPendingVersions) -> None:
    for subject in ("user:b", "user:a", "user:c"):
        await bump(postgres, subject)
    assert await outbox.due(0, 2) == {"user:b": 1, "user:a": 1}


async def test_a_change_that_rolls_back_is_never_due(
    postgres: PostgresDatabase, outbox: PostgresPendingVersions
) -> None:
    with suppress(Conflict):
        async with postgres.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump([ONE])
            raise Conflict
    assert await outbox.due(0, 9) == {}


async def test_what_is_being_bumped_again_is_not_waited_for(
    postgres: PostgresDatabase, outbox: PostgresPendingVersions
) -> None:
    await bump(postgres, ONE)
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump([ONE])
        async with asyncio.timeout(HUNG_AFTER):
            await outbox.published({ONE: 1})
    assert await outbox.due(0, 9) == {ONE: 2}


async def test_without_a_database_it_says_so() -> None:
    nowhere = PostgresPendingVersions("postgresql://127.0.0.1:1/nothing")
    with pytest.raises(ServiceUnavailable):
        await nowhere.due(0, 9)
    with pytest.raises(ServiceUnavailable):
        await nowhere.published({ONE: 1})


async def test_a_look_that_is_given_up_while_it_connects_leaves_nothing_behind(database_url: str) -> None:
    """As at the end of a command: the lease is given up at once. Each number of turns is another step of connecting."""
    loop, reported = asyncio.get_running_loop(), list[object]()
    loop.set_exception_handler(lambda _, context: reported.append(context))
    try:
        for turns in range(12):
            outbox = PostgresPendingVersions(database_url)
            looking = asyncio.create_task(outbox.due(0, 9))
            for _ in range(turns):
                await asyncio.sleep(0)
            looking.cancel()
            with suppress(asyncio.CancelledError):
                await looking
            await outbox.close()
        gc.collect()
    finally:
        loop.set_exception_handler(None)
    assert reported == []
