"""Transfers: an export is a snapshot, an import stores rows as a batch does, within the tenant."""

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from application.ports.entities.files import Loaded, Loading
from application.ports.entities.records import Act, NewRow, Values
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import EntityModel, Registry
from domain.entities.files.csv_rows import written
from domain.entities.query.query import Query, View, default_sort
from domain.entities.query.read_query import read_export
from domain.entities.sheets import MOST_ERRORS, Form, RowError
from domain.errors import BadRequest, FieldError
from domain.scope import EveryTenant, OneTenant, Scope
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_records_writing import category, product

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)


class Files:
    def __init__(self, database: WholeDatabase, registry: Registry) -> None:
        self.database, self.registry = database, registry

    async def add(self, plural: str, *rows: Values, scope: OneTenant = HERE) -> list[UUID]:
        async with self.database.transaction(scope) as tx:
            stored = await tx.records.add(self.registry[plural], [NewRow(new_id(), row) for row in rows], ACT)
        return [added.id for added in stored]

    async def out(self, query: Query, form: Form, scope: Scope = HERE) -> bytes:
        async with self.database.read_only(scope) as read:
            return b"".join([piece async for piece in read.transfers.pieces(self.products, query, form)])

    async def load(self, *lines: str, key: str | None = None, scope: Scope = HERE) -> Loaded:
        model = self.products
        async with self.database.transaction(scope) as tx:
            loading = Loading(ACT, model.by_name[key] if key else None)
            return await tx.transfers.load(model, pieces("".join(lines)), loading)

    async def skus(self, scope: Scope = HERE) -> list[str]:
        rows = json.loads(await self.out(self.asked(sort="sku"), "json", scope))
        return [row["sku"] for row in rows]

    def asked(self, **parameters: str) -> Query:
        return read_export(self.products, self.registry, frozenset(), list(parameters.items()))

    @property
    def products(self) -> EntityModel:
        return self.registry["products"]


@pytest.fixture
def files(database: WholeDatabase, registry: Registry) -> Files:
    return Files(database, registry)


async def pieces(text: str) -> AsyncIterator[bytes]:
    yield text.encode()


def row(number: int, sku: str, *, upsert: tuple[str, str | None] | None = None, **given: str | None) -> str:
    cells = {"name": "A", "sku": sku, "description": None, "price": "1", "stock": "0", "status": "draft"}
    values = {**cells, "categoryId": None, "releasedAt": None, "photoId": None, **given}
    own = () if upsert is None else (*upsert, None)  # no version
    return written([str(number), str(new_id()), *own, *values.values()])


ALL = "11111111"
REFUSED = '{"row":2,"message":"price: is required","details":[{"field":"price","message":"is required"}]}'
"""Error of a row that misses what a new row needs, as a sheet gives it for an upsert."""


@pytest.mark.promise("GET /api/{entities}/export: (its rows)")
async def test_csv_has_a_header_escapes_formulas_and_distinguishes_null_from_empty(files: Files) -> None:
    await files.add("products", product("AAA", description="=1,2"), product("BBB", description=""), product("CCC"))
    said = await files.out(files.asked(sort="sku", fields="sku,description"), "csv")
    lines = [line.split(",", 1)[1] for line in said.decode().split("\r\n")[:-1]]
    assert lines == ["sku,description", 'AAA,"\'=1,2"', 'BBB,""', "CCC,"]


@pytest.mark.promise("security, names: a CSV cell that begins with a full-width ＝ ＋ － ＠ is no formula either")
@pytest.mark.parametrize("sign", ["\uff1d", "\uff0b", "\uff0d", "\uff20"])
async def test_full_width_signs_begin_a_formula_too(files: Files, sign: str) -> None:
    await files.add(
        "products", product("AAA", name=f"a{sign}", description=f"{sign}1"), product("BBB", description=f"'{sign}")
    )
    said = await files.out(files.asked(sort="sku", fields="name,description"), "csv")
    cells = [line.split(",", 1)[1] for line in said.decode().split("\r\n")[1:-1]]
    assert cells == [f"a{sign},'{sign}1", f"A product,''{sign}"]


async def test_line_breaks_in_text_are_exported_unchanged(files: Files) -> None:
    await files.add("products", product("AAA", description='a\n"b"\r\nc\rd'))
    said = await files.out(files.asked(fields="description"), "csv")
    assert said.endswith(b',"a\n""b""\r\nc\rd"\r\n')


@pytest.mark.promise("GET /api/{entities}/export: (its rows)")
async def test_json_is_the_array_of_a_lists_items(files: Files) -> None:
    assert json.loads(await files.out(files.asked(), "json")) == []
    await files.add("products", product("AAA", description='\\\x01\x02"\n'), product("BBB"))
    async with files.database.read_only(HERE) as read:
        page = await read.records.page(files.products, Query(sort=default_sort(files.products, frozenset())))
    assert json.loads(await files.out(files.asked(), "json")) == json.loads(bytes(page.items))


@pytest.mark.parametrize("form", ["csv", "json"])
async def test_moments_have_six_digits_whatever_they_end_in(files: Files, form: Form) -> None:
    whole = datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
    moments = [whole.replace(microsecond=int("1" * n + "0" * (6 - n))) for n in range(7)]
    moments += [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)]
    await files.add("products", *(product(f"SKU-{n}", released_at=moment) for n, moment in enumerate(moments)))
    said = (await files.out(files.asked(sort="sku", fields="releasedAt"), form)).decode()
    found = re.findall(r"[\d-]{10}T[\d:]{8}\.\d{6}Z", said)
    assert found == [f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}".zfill(27) for moment in moments]


@pytest.mark.parametrize("form", ["csv", "cells"])
async def test_amounts_have_all_digits_after_the_point(files: Files, form: Form) -> None:
    await files.add("products", product(sku="AAA", price=Decimal(5)), product(sku="BBB", price=Decimal("0.5")))
    text = (await files.out(files.asked(sort="sku", fields="sku,price"), form)).decode()
    assert re.findall("[0-9.]*[.][0-9]+", text) == ["5.00", "0.50"]


async def test_cells_have_no_header_and_no_escape(files: Files) -> None:
    await files.add("products", product("AAA", description="=1"))
    said = await files.out(files.asked(fields="description"), "cells")
    assert said.endswith(b",=1\n")


async def test_included_rows_are_further_columns(files: Files) -> None:
    (category_id,) = await files.add("categories", category("Lamps"))
    await files.add("products", product("AAA", category_id=category_id), product("BBB"))
    said = (await files.out(files.asked(include="category", sort="sku", fields="sku"), "csv")).decode()
    header, first, second, _ = said.split("\r\n")
    place = header.split(",").index("category.name")
    assert [line.split(",")[place] for line in (first, second)] == ["Lamps", ""]


@pytest.mark.parametrize("value", ["'; DROP TABLE products; --", "\\", "'", "$1", "E'\\x'", "é\u2028😀", "%_", "{a,b}"])
async def test_hostile_values_of_filters_mean_themselves(files: Files, value: str) -> None:
    await files.add("products", product("AAA", name=value), product("BBB", name="other"))
    for parameters in ({"name.eq": value}, {"name.contains": value}, {"name": f'"{value}",x'}, {"search": value}):
        query = read_export(files.products, files.registry, frozenset(), [*parameters.items(), ("fields", "sku")])
        assert [exported["sku"] for exported in json.loads(await files.out(query, "json"))] == ["AAA"], parameters


async def test_an_export_contains_no_row_of_another_tenant(files: Files) -> None:
    await files.add("products", product("AAA"))
    await files.add("products", product("BBB"), scope=THERE)
    assert await files.skus(HERE) == ["AAA"]
    assert await files.skus(THERE) == ["BBB"]
    assert await files.skus(EveryTenant()) == ["AAA", "BBB"]
    header = (await files.out(files.asked(), "csv", EveryTenant())).split(b"\r\n")[0]
    assert header.startswith(b"id,tenantId,")


@pytest.mark.promise("entities, details: an export whose client leaves ends its query")
async def test_an_abandoned_export_releases_its_connection(files: Files) -> None:
    await files.add("products", *(product(f"SKU-{n}", description="x" * 9_000) for n in range(300)))
    async with files.database.read_only(HERE) as read:
        leaving = read.transfers.pieces(files.products, files.asked(), "csv")
        await anext(leaving)
        await leaving.aclose()
    assert len(await files.skus()) == 300


async def test_counting_stops_at_the_given_limit(files: Files) -> None:
    await files.add("products", *(product(f"SKU-{n}") for n in range(5)))
    async with files.database.read_only(HERE) as read:
        counts = [await read.transfers.count(files.products, files.asked(), most) for most in (3, 9)]
        assert counts == [3, 5]
        assert await read.transfers.count(files.products, files.asked(search="nothing"), 9) == 0


@pytest.mark.promise("POST /api/{entities}/import: (its rows)")
async def test_rows_are_stored_in_the_transactions_tenant(files: Files) -> None:
    assert await files.load(row(2, "AAA"), row(3, "BBB")) == Loaded(2, 0, [])
    assert await files.skus() == ["AAA", "BBB"]
    assert await files.skus(THERE) == []
    assert await files.load(row(2, "AAA"), scope=THERE) == Loaded(1, 0, [])


async def test_all_tenants_at_once_are_not_written(files: Files) -> None:
    with pytest.raises(BadRequest):
        await files.load(row(2, "AAA"), scope=EveryTenant())


@pytest.mark.promise("POST /api/{entities}/import: (its rows)")
async def test_rows_with_values_used_by_stored_or_earlier_rows_are_skipped(files: Files) -> None:
    await files.add("products", product("AAA"))
    assert await files.load(row(2, "AAA"), row(3, "BBB"), row(4, "BBB")) == Loaded(1, 2, [], 0, (2, 4))


async def test_a_row_that_refers_to_nothing_of_this_tenant_is_an_error(files: Files) -> None:
    (foreign,) = await files.add("categories", category("Theirs"), scope=THERE)
    loaded = await files.load(
        row(2, "AAA", categoryId=str(foreign)), row(3, "BBB", categoryId=str(new_id())), row(4, "CCC")
    )
    assert (loaded.imported, loaded.skipped) == (1, 0)
    assert [(error.row, error.message) for error in loaded.errors] == [
        (2, "categoryId: refers to nothing that exists"),
        (3, "categoryId: refers to nothing that exists"),
    ]
    assert [detail.field for error in loaded.errors for detail in error.details] == ["categoryId", "categoryId"]


@pytest.mark.parametrize("key", [None, "sku"])
async def test_all_rows_refused_by_the_database_are_counted_and_the_first_are_reported(
    files: Files, key: str | None
) -> None:
    upsert = None if key is None else (ALL, None)
    wrong = [row(n, f"SKU-{n}", categoryId=str(new_id()), upsert=upsert) for n in range(2, MOST_ERRORS + 7)]
    loaded = await files.load(*wrong, row(MOST_ERRORS + 7, "AAA", upsert=upsert), key=key)
    assert (loaded.imported, loaded.skipped, loaded.failed) == (1, 0, MOST_ERRORS + 5)
    assert [error.row for error in loaded.errors] == list(range(2, MOST_ERRORS + 2))


@pytest.mark.promise("entities, details: an upsert changes the rows with the same key")
async def test_an_upsert_changes_given_fields_and_creates_missing_rows(files: Files) -> None:
    await files.add("products", product("AAA", name="Old", stock=7))
    changed = row(2, "AAA", name="New", stock="0", upsert=("11000000", REFUSED))
    made = row(3, "BBB", upsert=(ALL, None))
    assert await files.load(changed, made, key="sku") == Loaded(2, 0, [])
    rows = json.loads(await files.out(files.asked(sort="sku", fields="name,stock,version"), "json"))
    assert [(stored_row["name"], stored_row["stock"], stored_row["version"]) for stored_row in rows] == [
        ("New", 7, 2),
        ("A", 0, 1),
    ]


async def test_an_upsert_of_a_new_row_needs_all_required_fields(files: Files) -> None:
    loaded = await files.load(row(2, "AAA", upsert=("01000000", REFUSED)), key="sku")
    assert loaded.errors == [RowError.on(2, [FieldError("price", "is required")])]
    assert await files.skus() == []


async def test_an_upsert_asks_the_rule_of_the_row_as_it_would_be(files: Files) -> None:
    await files.add("products", product("AAA"))
    loaded = await files.load(row(2, "AAA", status="live", upsert=("01000100", None)), key="sku")
    assert [(error.row, error.message) for error in loaded.errors] == [
        (2, "categoryId: a live product needs a category")
    ]


async def test_of_two_upserts_of_one_row_the_second_is_skipped(files: Files) -> None:
    lines = [row(n, "AAA", name=f"Row {n}", upsert=(ALL, None)) for n in (2, 3)]
    assert await files.load(*lines, key="sku") == Loaded(1, 1, [], 0, (3,))
    (stored,) = json.loads(await files.out(files.asked(), "json"))
    assert stored["name"] == "Row 2"


async def test_an_upsert_never_reaches_another_tenants_row(files: Files) -> None:
    await files.add("products", product("AAA", name="Theirs"), scope=THERE)
    assert await files.load(row(2, "AAA", name="Ours", upsert=(ALL, None)), key="sku") == Loaded(1, 0, [])
    (theirs,) = json.loads(await files.out(files.asked(), "json", THERE))
    assert theirs["name"] == "Theirs"


async def test_the_history_of_an_entity_knows_what_came_from_a_file(files: Files) -> None:
    model = files.registry["categories"]
    lines = [written([str(n), str(new_id()), "11", None, None, name, None]) for n, name in ((2, "One"), (3, "Two"))]
    for name in ("first", "second"):
        async with files.database.transaction(HERE) as tx:
            loading = Loading(ACT, model.by_name["name"])
            again = [line.replace(",\n", f',"{name}"\n') for line in lines]
            assert await tx.transfers.load(model, pieces("".join(again)), loading) == Loaded(2, 0, [])
    async with files.database.read_only(HERE) as read:
        page = await read.records.page(model, Query(sort=default_sort(model, frozenset())))
        row_id = UUID(json.loads(bytes(page.items))[0]["id"])
        entries, _ = await read.history.page(model, row_id, 0, 10)
    assert [(entry.action, entry.version) for entry in entries] == [("changed", 2), ("created", 1)]


def test_an_export_shows_what_a_view_shows(files: Files) -> None:
    assert files.asked(fields="sku").view == View(fields=("id", "sku"))
