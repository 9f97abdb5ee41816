"""Records: rows of one batch swap unique values of every kind, also where a deletion marks no rows."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
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
from application.ports.entities.records import Change, NewRow
from application.ports.whole_database import WholeDatabase
from application.retry import retry_on_conflict
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity, money, ref, unique
from domain.entities.query.query import WHOLE
from domain.entities.registry import build_registry
from domain.errors import Conflict, NotFound, PreconditionFailed
from domain.scope import OneTenant
from tests.builders import new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.writing.test_records_writing import ACT, LATER, body


class Light(Enum):
    RED = "red"
    GREEN = "green"


@entity("poles", soft_delete=False)
class Pole(Struct, rename="camel", kw_only=True):
    name: str = ""


KINDS: dict[str, tuple[object, object, object]] = {
    "light": (Light, Light.RED, Light.GREEN),
    "is_up": (bool, True, False),
    "day": (date, date(2026, 1, 1), date(9999, 12, 31)),
    "moment": (datetime, datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)),
    "ratio": (float, -1.7e308, 1.5),
    "number": (int, -(2**31), 2**31 - 1),
    "cents": (Annotated[Decimal, money(2, 0)], Decimal(-99), Decimal(99)),
    "words": (list[str] | None, ["a", "b"], ["c"]),
    "texts": (list[str], [], ["c"]),
    "key": (UUID, new_id(), new_id()),
}


def declared(name: str, soft: bool) -> type[Struct]:
    plural = f"{name.replace('_', '-')}-{'soft' if soft else 'hard'}"
    fields = {name: KINDS[name][0], "note": str}
    made = type(f"Sign{plural.title().replace('-', '')}", (Struct,), {"__annotations__": fields}, rename="camel")
    marked: type[Struct] = entity(plural, soft_delete=soft, history=True, unique=[unique(name)])(made)
    return marked


@entity("flags", soft_delete=False, unique=[unique("pole_id")])
class Flag(Struct, rename="camel", kw_only=True):
    pole_id: Annotated[UUID, ref("poles")]
    note: str = ""


@entity("ribbons", soft_delete=False)
class Ribbon(Struct, rename="camel", kw_only=True):
    flag_id: Annotated[UUID, ref("flags")]


SIGNS = build_registry(
    [
        *(*BUILTIN_ENTITIES, *ENTITIES, Pole, Flag, Ribbon),
        *(declared(name, soft) for name in KINDS for soft in (True, False)),
    ]
)
HERE = OneTenant(new_id())


@pytest.fixture(scope="module")
async def postgres_signs(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PostgresDatabase]:
    url, folders = await new_database(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    await write_migration(url, SIGNS, "signs", folders)
    await upgrade(url, SIGNS, folders)
    database = PostgresDatabase(url, SIGNS, CountingIds())
    await database.open()
    yield database
    await database.close()


@pytest.fixture(scope="module")
def memory_signs() -> MemoryDatabase:
    return MemoryDatabase(SIGNS, CountingIds())


@pytest.fixture(params=["memory", "postgres"])
def signs(request: pytest.FixtureRequest) -> WholeDatabase:
    adapter: WholeDatabase = request.getfixturevalue(f"{request.param}_signs")
    return adapter


async def add(database: WholeDatabase, plural: str, *rows: Mapping[str, object], scope: OneTenant = HERE) -> list[UUID]:
    ids = [new_id() for _ in rows]
    async with database.transaction(scope) as tx:
        new = [NewRow(row_id, row) for row_id, row in zip(ids, rows, strict=True)]
        await tx.records.add(SIGNS[plural], new, ACT)
    return ids


async def change(
    database: WholeDatabase, plural: str, *changes: Change, alone: bool = False, scope: OneTenant = HERE
) -> list[int]:
    way = database.autocommit if alone else database.transaction
    async with way(scope) as tx:
        return [row.version for row in await tx.records.change(SIGNS[plural], changes, LATER)]


async def rows(database: WholeDatabase, plural: str, ids: list[UUID]) -> list[dict[str, object]]:
    async with database.read_only(HERE) as read:
        found = [await read.records.get(SIGNS[plural], row_id, WHOLE) for row_id in ids]
    return [body(row) for row in found if row is not None]


@pytest.mark.promise(
    "declarations, rows sent back: two unique values are swapped in one batch, of any kind, by any number of rows, and "
    "beside others"
)
@pytest.mark.parametrize("soft", [True, False], ids=["soft", "hard"])
@pytest.mark.parametrize("name", KINDS)
async def test_two_rows_swap_a_unique_value_of_any_kind(signs: WholeDatabase, name: str, soft: bool) -> None:
    plural, (_, low, high) = f"{name.replace('_', '-')}-{'soft' if soft else 'hard'}", KINDS[name]
    ids = await add(signs, plural, {name: low, "note": "a"}, {name: high, "note": "b"})
    wire = SIGNS[plural].by_name[name].wire
    before = [row[wire] for row in await rows(signs, plural, ids)]
    swap = Change(ids[0], {name: high}), Change(ids[1], {name: low})
    assert await change(signs, plural, *swap) == [2, 2]
    back = Change(ids[0], {name: low, "note": "c"}, 2), Change(ids[1], {name: high})
    assert [row[wire] for row in await rows(signs, plural, ids)] == before[::-1]
    assert await change(signs, plural, *back, alone=True) == [3, 3]
    assert [(row[wire], row["note"]) for row in await rows(signs, plural, ids)] == [(before[0], "c"), (before[1], "b")]
    async with signs.read_only(HERE) as read:
        entries, _ = await read.history.page(SIGNS[plural], ids[0], 0, 10)
    told = {
        entry.version: [(each.field, decode(each.was), decode(each.to)) for each in entry.changes] for entry in entries
    }
    assert told[2] == [(wire, before[0], before[1])]
    assert told[3] == [(wire, before[1], before[0]), ("note", "a", "c")]
    stale = Change(ids[0], {name: high}, 2), Change(ids[1], {name: low})
    with pytest.raises(PreconditionFailed):
        await change(signs, plural, *stale)


@pytest.mark.parametrize("soft", [True, False], ids=["soft", "hard"])
@pytest.mark.parametrize("name", KINDS)
async def test_a_value_that_is_really_taken_is_named(signs: WholeDatabase, name: str, soft: bool) -> None:
    plural, (_, low, high) = f"{name.replace('_', '-')}-{'soft' if soft else 'hard'}", KINDS[name]
    scope = OneTenant(new_id())
    ids = await add(signs, plural, {name: low, "note": "a"}, {name: high, "note": "b"}, scope=scope)
    with pytest.raises(Conflict) as error:
        await change(signs, plural, Change(ids[0], {"note": "c"}), Change(ids[1], {name: low}), scope=scope)
    wire = SIGNS[plural].by_name[name].wire
    assert [wrong.field for wrong in error.value.fields] == [f"items[0].{wire}", f"items[1].{wire}"]


async def test_rows_that_others_refer_to_swap_their_references(signs: WholeDatabase) -> None:
    poles = await add(signs, "poles", {"name": "a"}, {"name": "b"})
    flags = await add(signs, "flags", *({"pole_id": pole, "note": ""} for pole in poles))
    await add(signs, "ribbons", *({"flag_id": flag} for flag in flags))
    await change(signs, "flags", Change(flags[0], {"pole_id": poles[1]}), Change(flags[1], {"pole_id": poles[0]}))
    assert [row["poleId"] for row in await rows(signs, "flags", flags)] == [str(pole) for pole in reversed(poles)]


async def test_a_writer_that_comes_meanwhile_finds_the_row(signs: WholeDatabase) -> None:
    poles = await add(signs, "poles", {"name": "a"}, {"name": "b"})
    flags = await add(signs, "flags", *({"pole_id": pole, "note": ""} for pole in poles))

    async def swap(first: int) -> None:
        pair = Change(flags[0], {"pole_id": poles[first]}), Change(flags[1], {"pole_id": poles[1 - first]})
        await retry_on_conflict(lambda: change(signs, "flags", *pair))()

    async def note(flag: UUID, text: str) -> None:
        await retry_on_conflict(lambda: change(signs, "flags", Change(flag, {"note": text}), alone=True))()

    try:
        await asyncio.gather(swap(1), note(flags[0], "a"), note(flags[1], "b"), swap(0), note(flags[0], "c"))
    except NotFound:
        pytest.fail("a row was gone while it was swapped")
    found = await rows(signs, "flags", flags)
    assert {row["poleId"] for row in found} == {str(pole) for pole in poles}
    assert sum(int(str(row["version"])) for row in found) == 2 + 2 * 2 + 3
