"""Links under concurrent writes: a statement that waits for a row never works on older links."""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TypeVar
from uuid import UUID

import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.transaction import PostgresTransaction
from application.entities.checks.link_changes import link_change
from application.ports.entities.records import Act, Change
from domain.errors import ValidationError
from tests.builders import NOW
from tests.contracts.entities.links.conftest import Desk, body, wire
from tests.linked_entities import REGISTRY
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until

ACT = Act(None, NOW)
A = TypeVar("A")


@pytest.fixture
def desk(postgres_links: PostgresDatabase) -> Desk:
    return Desk(postgres_links)


def transaction(desk: Desk) -> AbstractAsyncContextManager[PostgresTransaction]:
    assert isinstance(desk.database, PostgresDatabase)
    return desk.database.transaction(desk.tenant)


async def until_one_waits(tx: PostgresTransaction) -> None:
    """Wait until another connection waits for this transaction."""
    await until(partial(tx.connection.fetchval, SOMEBODY_WAITS))


async def behind(desk: Desk, row_id: UUID, tags: list[UUID], second: Coroutine[object, object, A]) -> A:
    """Run ``second`` while a transaction that sets ``tags`` holds the row, and commit once ``second`` waits."""
    async with transaction(desk) as tx:
        await tx.records.current(REGISTRY["orders"], [row_id])
        await tx.records.change(REGISTRY["orders"], [Change(row_id, {"tag_ids": tags})], ACT)
        waiting = asyncio.ensure_future(second)
        await until_one_waits(tx)
    return await waiting


async def test_a_write_without_links_that_waited_answers_with_the_newest_links(desk: Desk) -> None:
    red, blue = await desk.tags(2)
    row_id = await desk.add("orders", tag_ids=[red])
    row = await behind(desk, row_id, [blue], desk.change("orders", row_id, title=f"renamed {row_id}"))
    assert (row["version"], row["tagIds"]) == (3, wire([blue]))
    newest, *_ = await desk.history("orders", row_id)
    assert [each.field for each in newest.changes] == ["title"]


async def test_a_replacement_that_waited_replaces_the_newest_links(desk: Desk) -> None:
    red, blue, green = await desk.tags(3)
    row_id = await desk.add("orders", tag_ids=[red])
    row = await behind(desk, row_id, [red, blue], desk.change("orders", row_id, tag_ids=[green]))
    assert row["tagIds"] == wire([green]) == (await desk.get("orders", row_id))["tagIds"]


async def test_a_target_that_is_purged_while_it_is_linked_leaves_no_link(desk: Desk) -> None:
    (tag,) = await desk.tags(1)
    row_id = await desk.add("orders")
    await behind(desk, row_id, [tag], desk.purge("tags", tag))
    assert (await desk.get("orders", row_id))["tagIds"] == []


async def test_a_target_cannot_be_linked_while_it_is_purged(desk: Desk) -> None:
    (tag,) = await desk.tags(1)
    row_id = await desk.add("orders")
    async with transaction(desk) as tx:
        await tx.records.purge(REGISTRY["tags"], [tag], ACT, None)
        linking = asyncio.ensure_future(desk.change("orders", row_id, tag_ids=[tag]))
        await until_one_waits(tx)
    with pytest.raises(ValidationError):
        await linking
    assert (await desk.get("orders", row_id))["tagIds"] == []


@pytest.mark.promise("entities, details: many requests that add one link at once make one link, and all succeed")
async def test_many_requests_that_add_one_link_make_one_link(desk: Desk) -> None:
    (tag,) = await desk.tags(1)
    row_id = await desk.add("orders")
    field = REGISTRY["orders"].by_name["tag_ids"]
    added = [link_change(field, row_id, None, added=[tag]) for _ in range(100)]
    rows = await asyncio.gather(*(desk.crud.update(desk.write, REGISTRY["orders"], change) for change in added))
    assert [body(row)["tagIds"] for row in rows] == [wire([tag])] * 100
    assert sorted(row.version for row in rows) == list(range(2, 102))


async def test_requests_that_add_different_links_at_once_keep_all(desk: Desk) -> None:
    tags = await desk.tags(10)
    row_id = await desk.add("orders")
    field = REGISTRY["orders"].by_name["tag_ids"]
    added = [link_change(field, row_id, None, added=[tag]) for tag in tags]
    await asyncio.gather(*(desk.crud.update(desk.write, REGISTRY["orders"], change) for change in added))
    assert sorted((await desk.get("orders", row_id))["tagIds"]) == sorted(wire(tags))
