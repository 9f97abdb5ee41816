"""Batches under a rule on other rows: what their rows refer to is locked together, so that batches take turns."""

import asyncio
from datetime import date
from functools import partial

import pytest

from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act, Change
from domain.entities.declaration import Registry
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_writing import HERE, Desk
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until

ACT = Act(by=new_id(), at=NOW)
FREE = "SELECT id FROM volumes WHERE id = ANY ($1) FOR UPDATE SKIP LOCKED"


@pytest.fixture
def desk(postgres_library: PostgresDatabase, library_registry: Registry) -> Desk:
    return Desk(postgres_library, library_registry)


async def test_a_batch_locks_referenced_rows_before_their_rules_run(
    desk: Desk, postgres_library: PostgresDatabase
) -> None:
    volumes = [await desk.create("volumes", title=title) for title in "ABC"]
    visits = [await desk.create("visits", volume_id=volume.id, day=date(2026, 5, 1)) for volume in volumes[:2]]
    changes = [Change(visits[0].id, {"note": "A"}), Change(visits[1].id, {"volume_id": volumes[2].id})]
    async with postgres_library.transaction(HERE) as tx, postgres_library.transaction(HERE) as other:
        await tx.records.change(desk.registry["visits"], changes, ACT)
        assert await other.connection.fetch(FREE, [volume.id for volume in volumes]) == []


async def test_a_batch_locks_every_shared_row_that_its_rows_refer_to(
    desk: Desk, postgres_library: PostgresDatabase
) -> None:
    genres = [await desk.create("genres", name=name) for name in "AB"]
    picks = [await desk.create("picks", genre_id=genre.id) for genre in genres]
    changes = [Change(pick.id, {"after_id": None}) for pick in picks]
    async with postgres_library.transaction(HERE) as tx:
        await tx.records.change(desk.registry["picks"], changes, ACT)
        creating = asyncio.create_task(desk.create("picks", genre_id=genres[1].id))
        await until(partial(tx.connection.fetchval, SOMEBODY_WAITS))
    assert (await creating).version == 1


async def test_changing_one_reference_locks_the_rows_of_all_references(
    desk: Desk, postgres_library: PostgresDatabase
) -> None:
    volume, visits = await desk.create("volumes", title="A"), desk.registry["visits"]
    first, second = [await desk.create("visits", volume_id=volume.id, day=date(2026, 5, day)) for day in (1, 2)]
    async with postgres_library.transaction(HERE) as tx, postgres_library.transaction(HERE) as other:
        await tx.records.change(visits, [Change(first.id, {"after_id": second.id})], ACT)
        assert await other.connection.fetch(FREE, [volume.id]) == []
