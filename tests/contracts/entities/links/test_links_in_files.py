"""Links in files: a JSON array in a cell, replaced by an upsert that has the column."""

import json
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from application.ports.entities.files import Loaded, Loading
from application.ports.entities.records import Act
from domain.entities.files.csv_rows import written
from domain.entities.query.read_query import read_export
from domain.entities.sheets import Form, RowError
from domain.errors import FieldError
from tests.builders import NOW, new_id
from tests.contracts.entities.links.conftest import Desk, wire
from tests.linked_entities import REGISTRY

ORDERS = REGISTRY["orders"]
ACT = Act(None, NOW)


def line(number: int, *, is_upsert: bool = False, kept: Sequence[str] = (), **given: object) -> str:
    """A row as a sheet gives it; the cells of links are JSON."""
    flags = "".join("2" if name in kept else "01"[name in given] for name in ORDERS.names)
    values = {**{field.name: [] for field in ORDERS.links}, **given}
    cells = [
        json.dumps(value, default=str) if isinstance(value, list) else value for value in map(values.get, ORDERS.names)
    ]
    upserted = [flags, None, None] if is_upsert else []
    return written([str(number), str(new_id()), *upserted, *(None if cell is None else str(cell) for cell in cells)])


async def load(desk: Desk, *lines: str, key: str | None = None, kept: tuple[str, ...] = ()) -> Loaded:
    async def pieces() -> AsyncIterator[bytes]:
        yield "".join(lines).encode()

    async with desk.database.transaction(desk.tenant) as tx:
        loading = Loading(ACT, None if key is None else ORDERS.by_name[key], kept)
        return await tx.transfers.load(ORDERS, pieces(), loading)


async def exported(desk: Desk, form: Form, plural: str = "orders", **asked: str) -> str:
    query = read_export(REGISTRY[plural], REGISTRY, frozenset(), list(asked.items()))
    async with desk.database.read_only(desk.tenant) as read:
        return b"".join([piece async for piece in read.transfers.pieces(REGISTRY[plural], query, form)]).decode()


async def links_of(desk: Desk, title: str) -> tuple[list[UUID], int]:
    (row,) = await desk.page("orders", title=title)
    return [UUID(each) for each in row["tagIds"]], row["version"]


async def test_exports_have_an_array_of_live_targets_in_a_cell(desk: Desk) -> None:
    red, blue, green = await desk.tags(3)
    await desk.add("orders", title="a", tag_ids=[green, blue, red])
    await desk.add("orders", title="b")
    await desk.remove("tags", blue)
    ids = json.dumps(wire([green, red]), separators=(",", ":"))
    cell = '"' + ids.replace('"', '""') + '"'
    asked = {"fields": "title,tagIds", "sort": "title"}
    rows = [line.partition(",")[2] for line in (await exported(desk, "csv", **asked)).splitlines()]
    assert rows == ["title,tagIds", f"a,{cell}", "b,[]"]
    assert [row["tagIds"] for row in json.loads(await exported(desk, "json", **asked))] == [wire([green, red]), []]


async def test_exports_show_the_links_of_included_rows(desk: Desk) -> None:
    assert "customer.name" in (await exported(desk, "csv", include="customer")).splitlines()[0]


async def test_an_import_stores_links_and_refuses_those_to_nothing(desk: Desk) -> None:
    red, blue = await desk.tags(2)
    (foreign,) = await Desk(desk.database).tags(1)
    loaded = await load(
        desk,
        line(2, title="a", tag_ids=[blue, red]),
        line(3, title="b", tag_ids=[red, foreign]),
        line(4, title="c"),
        line(5, title="a", tag_ids=[red]),
    )
    error = RowError.on(3, [FieldError("tagIds", "refers to nothing that exists")])
    assert (loaded.imported, loaded.skipped, list(loaded.errors)) == (2, 1, [error])
    assert await links_of(desk, "a") == ([blue, red], 1)
    assert await links_of(desk, "c") == ([], 1)
    row_id = next(iter(await desk.found("orders", title="a")))
    (entry,) = await desk.history("orders", row_id)
    assert json.dumps(wire([blue, red]), separators=(",", ":")) in [bytes(each.to).decode() for each in entry.changes]


async def test_an_upsert_replaces_the_links_that_the_file_has(desk: Desk) -> None:
    red, blue, green = await desk.tags(3)
    for title in ("a", "b", "c"):
        await desk.add("orders", title=title, tag_ids=[red, blue])
    await desk.remove("tags", blue)
    loaded = await load(
        desk,
        line(2, is_upsert=True, title="a", tag_ids=[green]),
        line(3, is_upsert=True, title="b"),
        line(4, is_upsert=True, title="c", tag_ids=[blue, red]),
        line(5, is_upsert=True, title="d", tag_ids=[red]),
        key="title",
    )
    assert (loaded.imported, list(loaded.errors)) == (4, [])
    await desk.restore("tags", blue)
    a, version = await links_of(desk, "a")
    assert (set(a), version) == ({blue, green}, 2)
    assert await links_of(desk, "b") == ([red, blue], 1)
    assert await links_of(desk, "c") == ([blue, red], 2)
    assert await links_of(desk, "d") == ([red], 1)
    row_id = next(iter(await desk.found("orders", title="a")))
    (change,) = (await desk.history("orders", row_id))[0].changes
    assert (change.field, json.loads(bytes(change.was)), json.loads(bytes(change.to))) == (
        "tagIds",
        wire([red]),
        wire([green]),
    )


async def test_an_upsert_compares_links_that_the_caller_may_not_write(desk: Desk) -> None:
    here, there = await desk.add("countries"), await desk.add("countries")
    for title in ("a", "b"):
        await desk.add("orders", title=title, country_ids=[here])
    loaded = await load(
        desk,
        line(2, is_upsert=True, kept=("country_ids",), title="a", country_ids=[here], tag_ids=[]),
        line(3, is_upsert=True, kept=("country_ids",), title="b", country_ids=[there], tag_ids=[]),
        key="title",
        kept=("country_ids",),
    )
    assert loaded.imported == 1
    assert [(error.row, error.details[0].field) for error in loaded.errors] == [(3, "countryIds")]
