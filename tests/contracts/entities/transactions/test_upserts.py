"""Upserts by a unique field: rows that are created and changed, failures, repetition and concurrency."""

import asyncio
from collections import Counter as Count
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from application.entities.writing import IdempotencyKey
from application.ports.entities.records import RowPage
from application.ports.whole_database import WholeDatabase
from application.retry import TRIES
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import Query
from domain.errors import Conflict, Error, Forbidden, UnprocessableEntity, ValidationError
from domain.scope import Scope
from tests.builders import caller
from tests.contracts.entities.transactions.counter import Counter, Json, Row, change, create, delete
from tests.contracts.entities.writing.test_writing import HERE


@pytest.fixture
def counter(library: WholeDatabase, library_registry: Registry) -> Counter:
    return Counter(library, library_registry)


async def upserted(counter: Counter, plural: str, key: str, *items: Json) -> tuple[int, int, list[Row]]:
    answer = (await counter.upsert(plural, key, *items)).answer
    return answer.created, answer.updated, [msgspec.json.decode(stored.body) for stored in answer.items]


async def refused(counter: Counter, plural: str, key: str, *items: Json) -> tuple[type[Error], list[str]]:
    """The error and its fields; nothing was written."""
    before = await counter.rows()
    with pytest.raises(Error) as raised:
        await counter.upsert(plural, key, *items)
    assert await counter.rows() == before
    return type(raised.value), [wrong.field for wrong in raised.value.fields]


async def test_rows_with_the_key_change_and_others_are_created(counter: Counter) -> None:
    await counter.create("volumes", title="A", code="a", condition="worn")
    items = [{"code": "c", "title": "C"}, {"code": "a", "title": "B"}, {"code": "b", "title": "D"}]
    created, updated, rows = await upserted(counter, "volumes", "code", *items)
    assert (created, updated) == (2, 1)
    assert [(row["code"], row["title"], row["condition"], row["version"]) for row in rows] == [
        ("c", "C", "new", 1),
        ("a", "B", "worn", 2),
        ("b", "D", "new", 1),
    ]
    assert (await upserted(counter, "volumes", "code", *items))[:2] == (0, 3)


async def test_a_deleted_row_is_not_found_by_its_key(counter: Counter) -> None:
    (row,) = await counter.apply(create("shelves", name="S"))
    await counter.apply(delete("shelves", row["id"]))
    created, _, (new,) = await upserted(counter, "shelves", "name", {"name": "S"})
    assert (created, new["id"] == row["id"]) == (1, False)


async def test_a_key_that_ignores_case_finds_its_row(catalogue: Counter) -> None:
    await upserted(catalogue, "categories", "name", {"name": "Straße É"})
    created, updated, (row,) = await upserted(catalogue, "categories", "name", {"name": "STRAßE é"})
    assert (created, updated, row["name"]) == (0, 1, "STRAßE é")
    twice = {"name": "x"}, {"name": "Ä"}, {"name": "ä"}
    assert await refused(catalogue, "categories", "name", *twice) == (ValidationError, ["items[2].name"])


@pytest.fixture
def catalogue(database: WholeDatabase, registry: Registry) -> Counter:
    return Counter(database, registry)


async def test_items_need_the_key_and_new_rows_all_required_fields(counter: Counter) -> None:
    await upserted(counter, "volumes", "code", {"code": "a", "title": "A"})
    items: list[Json] = [{"code": "a"}, {"code": None}, {"title": "T"}]
    assert await refused(counter, "volumes", "code", *items) == (ValidationError, ["items[1].code", "items[2].code"])
    missing: list[Json] = [{"code": "b"}, {"code": "a"}, {"code": "c", "title": ""}]
    assert await refused(counter, "volumes", "code", *missing) == (ValidationError, ["items[2].title"])
    assert await refused(counter, "volumes", "code", *missing[:2]) == (ValidationError, ["items[0].title"])
    assert await refused(counter, "volumes", "title", {"title": "T"}) == (ValidationError, ["key"])
    with pytest.raises(ValidationError):
        await counter.upsert("volumes", "code")


async def test_rules_history_and_references_apply_to_both_kinds(counter: Counter) -> None:
    await upserted(counter, "volumes", "code", {"code": "a", "title": "A", "condition": "worn"})
    broken = [{"code": "a", "condition": "new"}, {"code": "b", "title": "B"}, {"code": "refused", "title": "C"}]
    expected = (UnprocessableEntity, ["items[0].condition", "items[2].code"])
    assert await refused(counter, "volumes", "code", *broken) == expected
    dangling = [{**item, "shelfId": str(HERE.id)} for item in broken]
    first = (ValidationError, ["items[0].shelfId", "items[1].shelfId", "items[2].shelfId"])
    assert await refused(counter, "volumes", "code", *dangling) == first
    (shelf,) = await counter.apply(create("shelves", name="S"))
    seats = [{"code": f"{number}", "shelfId": shelf["id"]} for number in range(3)]
    assert await refused(counter, "seats", "code", *seats) == (
        UnprocessableEntity,
        [f"items[{number}].shelfId" for number in range(3)],
    )
    await upserted(counter, "seats", "code", *seats[:2])


async def test_a_field_that_the_caller_may_not_write_can_be_sent_back(counter: Counter) -> None:
    clerk = caller(tenant_id=HERE.id, permissions=("*:volumes", "read:codes"))
    await counter.upsert("volumes", "code", {"code": "a", "title": "A"})
    back = await counter.upsert("volumes", "code", {"code": "a", "cost": 0, "title": "B"}, by=clerk)
    assert back.answer.updated == 1
    for item in ({"code": "a", "cost": 1}, {"code": "b", "title": "B", "cost": 0}):
        with pytest.raises(Forbidden) as raised:
            await counter.upsert("volumes", "code", item, by=clerk)
        assert [wrong.field for wrong in raised.value.fields] == ["items[0].cost"]
    unseen = caller(tenant_id=HERE.id, permissions=("*:volumes",))
    with pytest.raises(ValidationError) as told:
        await counter.upsert("volumes", "code", {"title": "A"}, by=unseen)
    assert "code" not in str(told.value.fields).replace("code='", "")


async def test_a_repeated_upsert_writes_once(counter: Counter) -> None:
    item, once = {"name": "S"}, IdempotencyKey("k", "f")
    answers = [await counter.upsert("shelves", "name", item, once=once) for _ in range(3)]
    assert [answer.is_replayed for answer in answers] == [False, True, True]
    assert {answer.answer.created for answer in answers} == {1}
    with pytest.raises(UnprocessableEntity):
        await counter.upsert("shelves", "name", item, once=IdempotencyKey("k", "g"))


async def test_concurrent_upserts_of_the_same_keys_lose_no_row(
    open_library: PostgresDatabase, second: PostgresDatabase, library_registry: Registry, postgres_library: object
) -> None:
    """Two connection pools, as of two processes, with the keys in other orders, next to deletions and batches."""
    del postgres_library
    counters = [Counter(database, library_registry) for database in (open_library, second)]
    keys, requests, random = [f"K{number}" for number in range(30)], 24, Random(1)

    async def upsert(number: int) -> Count[str]:
        items = [{"name": name} for name in random.sample(keys, len(keys))]
        answer = (await counters[number % 2].upsert("shelves", "name", *items)).answer
        return Count({"created": answer.created, "updated": answer.updated})

    counts = sum(await asyncio.gather(*map(upsert, range(requests))), Count[str]())
    assert counts == {"created": len(keys), "updated": len(keys) * (requests - 1)}
    rows = msgspec.json.decode((await counters[0].rows())["shelves"])
    assert sorted((row["name"], row["version"]) for row in rows) == sorted((name, requests) for name in keys)


@pytest.fixture
async def second(open_library: PostgresDatabase, library_registry: Registry) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(open_library.url, library_registry, CountingIds(), connections=4)
    await database.open()
    yield database
    await database.close()


async def test_upserts_next_to_deletions_and_batches_of_the_same_rows_all_succeed(
    postgres_library: PostgresDatabase, library_registry: Registry
) -> None:
    counter = Counter(postgres_library, library_registry)
    keys = [f"K{number}" for number in range(12)]
    rows = (await counter.upsert("shelves", "name", *({"name": name} for name in keys))).answer.items

    async def attempt(number: int) -> str:
        try:
            if number % 3 == 0:
                await counter.upsert("shelves", "name", *({"name": name} for name in keys[::-1]))
            elif number % 3 == 1:
                await counter.apply(*(change("shelves", row.id, name=f"N{row.id}") for row in rows[::-1]))
            else:
                await counter.apply(delete("shelves", rows[number % 12].id))
        except Error as error:
            return type(error).__name__
        return "done"

    told = Count(await asyncio.gather(*map(attempt, range(30))))
    assert told.keys() <= {"done", "NotFound", "Conflict"}
    assert told["done"] >= 10
    stored = {row["name"] for row in msgspec.json.decode((await counter.rows())["shelves"]) if not row["isDeleted"]}
    assert set(keys) <= stored or any(name.startswith("N") for name in stored)


@dataclass
class Blind:
    """A database on which the search finds no row at the first ``times`` tries: another request creates it later."""

    database: WholeDatabase
    times: int

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Any]:
        self.times -= 1
        async with self.database.transaction(scope) as tx:
            yield tx if self.times < 0 else Without(tx)


@dataclass
class Without:
    """A transaction, and its rows, that does not find any."""

    seen: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.seen, name)

    @property
    def records(self) -> Any:
        return Without(self.seen.records)

    async def page(self, _: EntityModel, __: Query) -> RowPage:
        return RowPage(items=msgspec.Raw(b"[]"), length=0, total=None, has_next=False)


async def test_a_row_that_appears_concurrently_is_changed(library: WholeDatabase, library_registry: Registry) -> None:
    counter = Counter(library, library_registry)
    await counter.create("shelves", name="B")
    late = Counter(Blind(library, times=2), library_registry)
    answer = (await late.upsert("shelves", "name", {"name": "A"}, {"name": "B"}, {"name": "C"})).answer
    assert (answer.created, answer.updated) == (2, 1)


async def test_a_key_of_a_row_that_the_caller_cannot_see_is_a_conflict_on_its_item(
    library: WholeDatabase, library_registry: Registry
) -> None:
    counter = Counter(library, library_registry)
    await counter.create("shelves", name="B")
    blind = Counter(Blind(library, times=TRIES), library_registry)
    for items, place in (([{"name": "A"}, {"name": "B"}], 1), ([{"name": "B"}], 0)):
        with pytest.raises(Conflict) as raised:
            await blind.upsert("shelves", "name", *items)
        assert [wrong.field for wrong in raised.value.fields] == [f"items[{place}].name"]
        blind = Counter(Blind(library, times=TRIES), library_registry)
