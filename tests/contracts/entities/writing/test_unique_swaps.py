"""Records: rows of one batch may pass unique values on to each other."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import pytest
from msgspec import Struct
from msgspec.json import decode

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.records import Change, NewRow, Values
from application.ports.whole_database import WholeDatabase
from application.retry import retry_on_conflict
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import EntityModel
from domain.entities.markers import entity, money, ref, unique
from domain.entities.query.query import WHOLE
from domain.entities.registry import build_registry
from domain.errors import Conflict, PreconditionFailed, Referrer, StillReferredTo
from domain.scope import OneTenant
from tests.builders import new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.writing.test_records_writing import ACT, LATER, body, fields_of


@entity("colours", tenant_owned=False)
class Colour(Struct, rename="camel", kw_only=True):
    name: str


@entity("soft-seats", history=True, unique=[unique("label"), unique("row", "number"), unique("code", ignore_case=True)])
class SoftSeat(Struct, rename="camel", kw_only=True):
    label: str
    row: int
    number: int
    code: str | None = None
    next_id: Annotated[UUID | None, ref("soft-seats")] = None
    colour_id: Annotated[UUID | None, ref("colours")] = None


@entity(
    "hard-seats",
    soft_delete=False,
    history=True,
    unique=[unique("label"), unique("row", "number"), unique("code", ignore_case=True), unique("price")],
)
class HardSeat(Struct, rename="camel", kw_only=True):
    label: str
    row: int
    number: int
    price: Annotated[Decimal, money(8, 2)]
    code: str | None = None
    next_id: Annotated[UUID | None, ref("hard-seats")] = None


SEATS = build_registry([*BUILTIN_ENTITIES, *ENTITIES, Colour, SoftSeat, HardSeat])


@pytest.fixture(scope="module")
async def postgres_seats(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PostgresDatabase]:
    url, folders = await new_database(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    await write_migration(url, SEATS, "seats", folders)
    await upgrade(url, SEATS, folders)
    database = PostgresDatabase(url, SEATS, CountingIds())
    await database.open()
    yield database
    await database.close()


@pytest.fixture(scope="module")
def memory_seats() -> MemoryDatabase:
    return MemoryDatabase(SEATS, CountingIds())


@pytest.fixture(params=["memory", "postgres"])
def seats(request: pytest.FixtureRequest) -> WholeDatabase:
    adapter: WholeDatabase = request.getfixturevalue(f"{request.param}_seats")
    return adapter


@dataclass
class Hall:
    """Three seats of a tenant: ``A 1``, ``A 2`` and ``A 3``."""

    database: WholeDatabase
    plural: str
    is_alone: bool
    scope: OneTenant = field(default_factory=lambda: OneTenant(new_id()))
    ids: list[UUID] = field(default_factory=list)

    @property
    def model(self) -> EntityModel:
        return SEATS[self.plural]

    def values(self, number: int) -> Values:
        values: Values = {"label": f"A {number}", "row": 1, "number": number, "code": f"a{number}", "next_id": None}
        return {**values, **({"price": Decimal(number)} if self.plural == "hard-seats" else {"colour_id": None})}

    async def fill(self) -> None:
        self.ids = [new_id() for _ in range(3)]
        rows = [NewRow(row_id, self.values(number)) for number, row_id in enumerate(self.ids, 1)]
        async with self.database.transaction(self.scope) as tx:
            await tx.records.add(self.model, rows, ACT)

    async def change(self, *changes: tuple[int, Values], version: int | None = None) -> list[dict[str, object]]:
        sent = [Change(self.ids[n - 1], values, version) for n, values in changes]
        way = self.database.autocommit if self.is_alone else self.database.transaction
        async with way(self.scope) as tx:
            return [body(row) for row in await tx.records.change(self.model, sent, LATER)]

    async def all(self, name: str) -> list[object]:
        async with self.database.read_only(self.scope) as read:
            found = [await read.records.get(self.model, row_id, WHOLE) for row_id in self.ids]
        return [body(row)[name] for row in found if row is not None]

    async def history(self, n: int) -> list[tuple[int, str, list[tuple[str, object, object]]]]:
        async with self.database.read_only(self.scope) as read:
            entries, _ = await read.history.page(self.model, self.ids[n - 1], 0, 10)
        told = {
            entry.version: [(each.field, decode(each.was), decode(each.to)) for each in entry.changes]
            for entry in entries
        }
        return [(entry.version, entry.action, told[entry.version]) for entry in entries if entry.version > 1]


@pytest.fixture(params=["soft-seats", "hard-seats"])
def plural(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(params=[False, True], ids=["in a transaction", "alone"])
async def hall(seats: WholeDatabase, plural: str, request: pytest.FixtureRequest) -> Hall:
    hall = Hall(seats, plural, is_alone=request.param)
    await hall.fill()
    return hall


async def test_two_rows_swap_a_unique_value(hall: Hall) -> None:
    answered = await hall.change((1, {"label": "A 2"}), (2, {"label": "A 1"}))
    assert [row["label"] for row in answered] == ["A 2", "A 1"]
    assert [row["version"] for row in answered] == [2, 2]
    assert await hall.all("label") == ["A 2", "A 1", "A 3"]
    assert await hall.all("version") == [2, 2, 1]
    assert await hall.history(1) == [(2, "changed", [("label", "A 1", "A 2")])]
    assert await hall.history(3) == []


async def test_rows_that_swap_unique_values_may_refer_to_each_other(hall: Hall) -> None:
    first, second, _ = hall.ids
    answered = await hall.change((1, {"label": "A 2", "next_id": second}), (2, {"label": "A 1", "next_id": first}))
    assert [row["nextId"] for row in answered] == [str(second), str(first)]


@pytest.mark.promise(
    "declarations, rows sent back: two unique values are swapped in one batch, of any kind, by any number of rows, and "
    "beside others"
)
async def test_three_rows_pass_every_unique_value_round(hall: Hall) -> None:
    changes = [(n, hall.values(n % 3 + 1)) for n in (1, 2, 3)]
    await hall.change(*changes)
    assert await hall.all("label") == ["A 2", "A 3", "A 1"]
    assert await hall.all("number") == [2, 3, 1]
    assert await hall.all("code") == ["a2", "a3", "a1"]
    if hall.plural == "soft-seats":
        assert await hall.all("isDeleted") == [False] * 3


async def test_a_row_gets_the_unique_value_that_another_releases_in_any_order(hall: Hall) -> None:
    await hall.change((1, {"label": "A 2"}), (2, {"label": "B"}))
    await hall.change((1, {"label": "C"}), (3, {"label": "A 2"}))
    assert await hall.all("label") == ["C", "B", "A 2"]


async def test_a_row_without_sent_values_has_an_unchanged_version(hall: Hall) -> None:
    await hall.change((1, {"label": "A 2"}), (2, {"label": "A 1"}), (3, {}))
    assert await hall.all("version") == [2, 2, 1]


async def test_values_that_are_really_taken_are_named(hall: Hall) -> None:
    cases: list[tuple[list[tuple[int, Values]], list[str]]] = [
        ([(1, {"label": "A 2"}), (2, {"label": "A 3"})], ["items[1].label"]),
        ([(1, {"label": "X"}), (2, {"label": "X"})], ["items[0].label", "items[1].label"]),
        ([(1, {"code": "A2"}), (2, {"code": "A3"})], ["items[1].code"]),
        ([(1, {"label": "A 2", "number": 3}), (2, {"label": "A 1"})], ["items[0].row", "items[0].number"]),
        ([(3, {"label": "A 2", "number": 1}), (2, {"label": "A 3"})], ["items[0].row", "items[0].number"]),
    ]
    for changes, named in cases:
        with pytest.raises(Conflict) as error:
            await hall.change(*changes)
        assert fields_of(error) == named
    assert await hall.all("label") == ["A 1", "A 2", "A 3"]
    assert await hall.all("version") == [1, 1, 1]


async def test_what_was_not_sent_stays_as_it_was(hall: Hall) -> None:
    await hall.change((1, {"label": "A 2"}), (2, {"code": "x", "label": "A 1"}), (3, {"number": 4}))
    assert await hall.all("code") == ["a1", "x", "a3"]
    assert [await hall.all(name) for name in ("row", "number")] == [[1, 1, 1], [1, 2, 4]]
    assert await hall.history(2) == [(2, "changed", [("label", "A 2", "A 1"), ("code", "a2", "x")])]


async def test_versions_are_held_to_in_a_swap(hall: Hall) -> None:
    await hall.change((1, {"label": "B"}))
    with pytest.raises(PreconditionFailed):
        await hall.change((1, {"label": "A 2"}), (2, {"label": "B"}), version=1)
    await hall.change((2, {"label": "B"}), (1, {"label": "A 2"}))
    assert await hall.all("label") == ["A 2", "B", "A 3"]


@pytest.mark.promise(
    "declarations, rows sent back: two unique values are swapped in one batch, of any kind, by any number of rows, and "
    "beside others"
)
async def test_many_swaps_at_once_leave_one_order(seats: WholeDatabase, plural: str) -> None:
    hall = Hall(seats, plural, is_alone=False)
    await hall.fill()

    async def swap(first: int, second: int) -> None:
        await retry_on_conflict(lambda: hall.change((first, {"label": "A 2"}), (second, {"label": "A 1"})))()

    await asyncio.gather(swap(1, 2), swap(2, 1), swap(1, 2))
    assert sorted(map(str, await hall.all("label"))) == ["A 1", "A 2", "A 3"]
    assert await hall.all("version") == [4, 4, 1]


async def test_referring_rows_of_other_tenants_are_not_reported(seats: WholeDatabase) -> None:
    red = new_id()
    here, there = (Hall(seats, "soft-seats", is_alone=False) for _ in range(2))
    for hall in (here, there):
        await hall.fill()
    async with seats.transaction(here.scope) as tx:
        await tx.records.add(SEATS["colours"], [NewRow(red, {"name": "red"})], ACT)
    await there.change((1, {"colour_id": red}))

    async def delete() -> dict[UUID, set[Referrer]]:
        try:
            async with seats.transaction(here.scope) as tx:
                await tx.records.remove(SEATS["colours"], [red], LATER, None)
        except StillReferredTo as error:
            return error.by
        raise AssertionError

    assert await delete() == {red: set()}
    await here.change((2, {"colour_id": red}))
    assert await delete() == {red: {Referrer("soft-seats", ("colour_id",), 1)}}


async def test_every_duplicate_unique_field_is_reported_for_every_row(hall: Hall) -> None:
    changes: list[tuple[int, Values]] = [(1, {"label": "A 3"}), (2, {"code": "A3"}), (3, {"row": 1, "number": 3})]
    with pytest.raises(Conflict) as caught:
        await hall.change(*changes)
    told = [error.field for error in caught.value.fields]
    assert told == ["items[0].label", "items[1].code", "items[2].label", "items[2].code"]
    assert caught.value.message == "label: is taken already; code: is taken already."
