"""Rules that ask for rows of all tenants: writes of one tenant take turns, and those of others do not wait for them."""

import asyncio
from functools import partial

import pytest

from adapters.postgres.database import PostgresDatabase
from application.entities.checks.rule_rows import TransactionRows
from application.entities.writing import Write
from application.ports.entities.records import Act, Change, NewRow, Stored
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import UnprocessableEntity
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_writing import ADA, HERE, THERE, Desk, asking
from tests.library import Genre, Pick
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until

ACT = Act(by=new_id(), at=NOW)
WITHIN = 5
"""Seconds in which a write ends that waits for nobody: a statement that waits for a lock is given 10."""


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def test_concurrent_rows_of_one_shared_row_stay_within_the_limit_of_a_rule(desk: Desk) -> None:
    genre = await desk.create("genres", name="G")
    made = [desk.create("picks", scope, genre_id=genre.id) for _ in range(4) for scope in (HERE, THERE)]
    results = await asyncio.gather(*made, return_exceptions=True)
    assert [isinstance(result, (Stored, UnprocessableEntity)) for result in results] == [True] * 8, results
    for scope in (HERE, THERE):
        async with asking(desk, scope) as rows:
            assert await rows.count(Pick) == 2


async def test_batches_over_shared_rows_in_any_order_do_not_deadlock(desk: Desk) -> None:
    genres = [await desk.create("genres", name=f"G {number}") for number in range(6)]
    write, model = Write(caller=ADA, scope=HERE), desk.registry["picks"]
    forth = [{"genre_id": genre.id, "after_id": None} for genre in genres]
    made = [desk.batches.create(write, model, values) for values in (forth, forth[::-1])]
    results = await asyncio.gather(*made)
    assert [len(result.answer) for result in results] == [6, 6]


async def test_a_tenant_that_locks_a_shared_row_does_not_block_other_tenants(
    postgres_library: PostgresDatabase, library_registry: Registry
) -> None:
    desk = Desk(postgres_library, library_registry)
    genre = await desk.create("genres", name="G")
    async with postgres_library.transaction(HERE) as tx:
        await tx.records.add(
            library_registry["picks"], [NewRow(new_id(), {"genre_id": genre.id, "after_id": None})], ACT
        )
        await TransactionRows(tx.records, library_registry).get(Genre, genre.id)
        async with asyncio.timeout(WITHIN):
            await desk.create("picks", THERE, genre_id=genre.id)


async def test_a_shared_row_that_a_rule_asked_for_is_not_changed_until_the_write_is_over(
    postgres_library: PostgresDatabase, library_registry: Registry
) -> None:
    desk = Desk(postgres_library, library_registry)
    genre = await desk.create("genres", name="G")
    change = Change(genre.id, {"name": "Changed"})
    async with postgres_library.transaction(HERE) as tx:
        found = await TransactionRows(tx.records, library_registry).get(Genre, genre.id)
        changing = asyncio.create_task(
            desk.crud.update(Write(caller=ADA, scope=THERE), library_registry["genres"], change)
        )
        await until(partial(tx.connection.fetchval, SOMEBODY_WAITS))
    assert found == Genre(name="G")
    await changing
