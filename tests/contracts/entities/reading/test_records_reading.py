"""Records: the JSON of rows, the rows that a scope may see, and pages."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

import msgspec
import pytest

from adapters.memory.entities import reading as reading_of_memory
from adapters.postgres.entities.reading import select as reading_of_postgres
from application.ports.entities.records import Act, Change, NewRow, RowPage, Values
from application.ports.whole_database import WholeDatabase
from domain.entities.catalogue import Status
from domain.entities.declaration import Registry
from domain.entities.query.cursors import write_cursor
from domain.entities.query.query import View
from domain.entities.query.read_query import read_query
from domain.entities.query.responses import MOST_INCLUDED_BYTES
from domain.errors import ValidationError
from domain.scope import EveryTenant, OneTenant, Scope
from tests.builders import NOW, new_id

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
PRODUCT: Values = {
    "name": "Lamp",
    "sku": "LAMP",
    "description": None,
    "price": Decimal("9.9"),
    "stock": 0,
    "status": Status.DRAFT,
    "category_id": None,
    "released_at": None,
    "photo_id": None,
}


class Shop:
    """Stored rows, and queries given as query parameters."""

    def __init__(self, database: WholeDatabase, registry: Registry) -> None:
        self.database = database
        self.registry = registry

    async def add(self, plural: str, rows: Sequence[Values], scope: OneTenant = HERE) -> list[UUID]:
        act, made = Act(by=new_id(), at=NOW), [NewRow(new_id(), row) for row in rows]
        async with self.database.transaction(scope) as tx:
            await tx.records.add(self.registry[plural], made, act)
        return [row.id for row in made]

    async def products(self, *rows: Values, scope: OneTenant = HERE) -> list[UUID]:
        numbered = [{**PRODUCT, "sku": f"SKU-{number}", **row} for number, row in enumerate(rows)]
        return await self.add("products", numbered, scope)

    async def reviews(self, product_id: UUID, *ratings: int) -> list[UUID]:
        rows = [{"product_id": product_id, "rating": rating, "author": "Bob", "text": None} for rating in ratings]
        return await self.add("reviews", rows)

    async def remove(self, plural: str, row_id: UUID) -> None:
        async with self.database.transaction(HERE) as tx:
            assert await tx.records.remove(self.registry[plural], [row_id], Act(by=None, at=NOW), None)

    async def page(self, plural: str, asked: str = "", scope: Scope = HERE) -> RowPage:
        query = read_query(self.registry[plural], self.registry, frozenset(), parse_qsl(asked))
        async with self.database.read_only(scope) as read:
            return await read.records.page(self.registry[plural], query)

    async def items(self, plural: str, asked: str = "", scope: Scope = HERE) -> list[dict[str, Any]]:
        return items_of(await self.page(plural, asked, scope))

    async def get(self, plural: str, row_id: UUID, view: View, scope: Scope = HERE) -> bytes | None:
        async with self.database.read_only(scope) as read:
            stored = await read.records.get(self.registry[plural], row_id, view)
        return None if stored is None else bytes(stored.body)


def items_of(page: RowPage) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = msgspec.json.decode(page.items)
    assert len(items) == page.length
    return items


@pytest.fixture
def shop(database: WholeDatabase, registry: Registry) -> Shop:
    return Shop(database, registry)


async def test_a_row_shows_the_fields_asked_for_in_their_own_order(shop: Shop) -> None:
    released = datetime(2026, 1, 1, 1, tzinfo=UTC)
    (row_id,) = await shop.products({"price": Decimal("1E+3"), "released_at": released})
    view = View(fields=("released_at", "price", "name"), include=(("category",),))
    body = (
        f'{{"id":"{row_id}","name":"Lamp","price":1000.00,"releasedAt":"2026-01-01T01:00:00.000000Z","category":null}}'
    )
    assert await shop.get("products", row_id, view) == body.encode()


async def test_hidden_fields_are_omitted_from_included_rows(shop: Shop) -> None:
    (category,) = await shop.add("categories", [{"name": "Light", "description": "dark"}])
    (row_id,) = await shop.products({"category_id": category})
    hidden = frozenset({("categories", "description"), ("products", "price")})
    body = await shop.get("products", row_id, View(include=(("category",),), hidden=hidden))
    assert body is not None
    shown = msgspec.json.decode(body)
    assert "price" not in shown
    assert list(shown["category"])[:3] == ["id", "name", "createdAt"]


@pytest.mark.parametrize("asked", ["", "include=category,reviews", "name=Lamp", "search=lamp", "sort=category.name"])
async def test_another_tenant_sees_nothing(shop: Shop, asked: str) -> None:
    (row_id,) = await shop.products({})
    await shop.reviews(row_id, 5)
    assert len(await shop.items("products", asked)) == 1
    page = await shop.page("products", asked, THERE)
    assert (page.length, page.total, bytes(page.items)) == (0, 0, b"[]")
    assert await shop.get("products", row_id, View(), THERE) is None


@pytest.mark.promise("entities, details: include: to-one, to-many of at most 100, HasMore")
async def test_related_rows_are_of_the_same_tenant_and_alive(shop: Shop) -> None:
    (mine,) = await shop.products({})
    await shop.products({}, scope=THERE)
    first, _ = await shop.reviews(mine, 1, 5)
    await shop.remove("reviews", first)
    (row,) = await shop.items("products", "include=reviews")
    assert [review["rating"] for review in row["reviews"]] == [5]
    assert await shop.items("products", "reviews.rating=1") == []
    assert await shop.items("products", "reviews.rating=1", EveryTenant()) == []


@pytest.mark.promise("entities, contract: includeDeleted")
async def test_deleted_rows_show_when_they_are_asked_for(shop: Shop) -> None:
    (row_id,) = await shop.products({})
    await shop.reviews(row_id, 1)
    await shop.remove("products", row_id)
    assert await shop.items("products") == []
    assert await shop.get("products", row_id, View()) is None
    (row,) = await shop.items("products", "includeDeleted=true")
    assert (row["isDeleted"], row["deletedAt"]) == (True, "2026-11-20T12:00:00.123456Z")
    (review,) = await shop.items("reviews", "includeDeleted=true&include=product")
    assert review["product"] is None


@pytest.mark.promise("entities, details: include: to-one, to-many of at most 100, HasMore")
async def test_a_to_many_relation_shows_100_rows_and_reports_further_ones(shop: Shop) -> None:
    many, few = await shop.products({}, {})
    await shop.reviews(many, *[1] * 101)
    await shop.reviews(few, *[1] * 100)
    rows = await shop.items("products", "include=reviews.product&sort=sku")
    assert [(len(row["reviews"]), row["reviewsHasMore"]) for row in rows] == [(100, True), (100, False)]
    assert rows[0]["reviews"][99]["product"]["sku"] == "SKU-0"


@pytest.mark.promise("entities, details: the lists that are included in an answer have at most 32 MiB")
async def test_lists_that_are_too_long_together_are_refused(shop: Shop) -> None:
    first, second = await shop.products({}, {})
    text = "x" * (MOST_INCLUDED_BYTES // 5)
    for product_id in (first, second):
        rows = [{"product_id": product_id, "rating": 1, "author": "Bob", "text": text}] * 3
        await shop.add("reviews", rows)
    for asked in ("include=reviews", "include=reviews.product", "include=reviews,category&sort=category.name"):
        with pytest.raises(ValidationError) as caught:
            await shop.page("products", asked)
        assert [error.field for error in caught.value.fields] == ["include"]
    with pytest.raises(ValidationError):
        await shop.page("reviews", "include=product.reviews&pageSize=2")
    # the row that only tells of a next page is no part of the answer
    page = await shop.page("products", "include=reviews&pageSize=1")
    assert (page.has_next, [len(row["reviews"]) for row in items_of(page)]) == (True, [3])
    assert await shop.get("products", first, View(include=(("reviews",),))) is not None
    nested = View(include=(("reviews",), ("reviews", "product"), ("reviews", "product", "reviews")))
    with pytest.raises(ValidationError):
        await shop.get("products", first, nested)


@pytest.mark.promise("entities, details: Conditions through a to-many relation hold together for one related row")
async def test_conditions_on_one_relation_are_about_one_row_of_it(shop: Shop) -> None:
    (row_id,) = await shop.products({})
    await shop.reviews(row_id, 1, 5)
    assert (await shop.page("products", "reviews.rating.gt=0&reviews.author=Bob")).total == 1
    assert (await shop.page("products", "reviews.rating.gt=1&reviews.rating.lt=5")).total == 0


@pytest.mark.promise("entities, details: a missing to-one matches nothing, ne included")
async def test_a_missing_relation_matches_nothing_and_sorts_as_the_largest(shop: Shop) -> None:
    (category,) = await shop.add("categories", [{"name": "Light", "description": None}])
    await shop.products({}, {"category_id": category})
    assert [row["sku"] for row in await shop.items("products", "category.name.ne=Dark")] == ["SKU-1"]
    assert [row["sku"] for row in await shop.items("products", "sort=category.name")] == ["SKU-1", "SKU-0"]
    assert [row["sku"] for row in await shop.items("products", "sort=category.name:desc")] == ["SKU-0", "SKU-1"]


@pytest.mark.promise("entities, details: %, _ and \\ are literal")
async def test_wildcards_mean_themselves(shop: Shop) -> None:
    await shop.products({"name": "100%"}, {"name": "100 x"}, {"name": "a_b"}, {"name": "aXb"}, {"name": "a\\b"})
    for part, found in (("100%25", 1), ("_", 1), ("%5C", 1), ("A", 3)):
        assert (await shop.page("products", f"name.contains={part}")).total == found
        assert (await shop.page("products", f"search={part}")).total == found


@pytest.mark.promise("entities, details: the total: exact, deduced, estimated, none")
async def test_totals_are_exact_estimated_or_left_out(shop: Shop) -> None:
    await shop.products(*[{}] * 5)
    exact = await shop.page("products", "pageSize=2")
    assert (exact.total, exact.has_next, exact.total_is_estimate) == (5, True, False)
    past = await shop.page("products", "pageSize=2&page=9")
    assert (past.length, past.total, past.has_next) == (0, 5, False)
    assert (await shop.page("products", "pageSize=2&count=none")).total is None
    told = await shop.page("products", "count=estimated")
    assert (told.total, told.total_is_estimate) == (5, False)


async def test_an_estimated_total_reveals_nothing_about_other_tenants(shop: Shop) -> None:
    # the planner takes a tenant that it has not seen for one like those that it has
    await shop.products(*[{"price": Decimal(5_000)}] * 100, scope=THERE)
    ids = await shop.products(*[{"price": Decimal(number)} for number in range(1_002)])
    await shop.remove("products", ids[0])
    for query, total in (
        ("", 1_001),
        ("&minPrice=200", 802),
        ("&page=900", 1_001),
        ("&search=lamp", 1_001),
        ("&page=2&price=5000", 0),
    ):
        page = await shop.page("products", f"pageSize=2&count=estimated{query}")
        assert (page.total, page.total_is_estimate) == (total, False), query


@pytest.mark.parametrize("query", ["", "&minPrice=3", "&search=lamp"])
async def test_a_total_is_counted_up_to_a_bound_and_estimated_beyond(
    shop: Shop, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = await shop.products(*[{}] * 11)
    for reading in (reading_of_memory, reading_of_postgres):
        monkeypatch.setattr(reading, "MOST_COUNTED", 10)
    for page, total in (("", 10), ("&page=5", 11)):
        estimated = await shop.page("products", f"pageSize=2&count=estimated{query}{page}")
        assert (estimated.total, estimated.total_is_estimate) == (total, True)
    for exact in ("&count=exact", "&count=estimated&page=6"):
        told = await shop.page("products", f"pageSize=2{query}{exact}")
        assert (told.total, told.total_is_estimate) == (11, False)
    await shop.remove("products", ids[0])
    told = await shop.page("products", f"pageSize=2&count=estimated{query}")
    assert (told.total, told.total_is_estimate) == (10, False)


async def test_pages_far_behind_are_the_same_as_those_in_front(shop: Shop, registry: Registry) -> None:
    await shop.products(*[{"price": Decimal(number % 7)} for number in range(1_010)])
    order = "sort=price:desc,category.name&pageSize=100"
    rows = [row["id"] for number in range(1, 12) for row in await shop.items("products", f"{order}&page={number}")]
    assert len(set(rows)) == len(rows) == 1_010
    page, walked = await shop.page("products", order), list[str]()
    while True:
        walked += [row["id"] for row in items_of(page)]
        if page.last is None:
            break
        sort = read_query(registry["products"], registry, frozenset(), parse_qsl(order)).sort
        page = await shop.page("products", f"{order}&cursor={write_cursor(sort, page.last)}")
    assert walked == rows


LONG = "long " * 80


@pytest.mark.parametrize("order", ["description", "description:desc", "description,id:desc", "status,description:desc"])
@pytest.mark.promise("entities, details: fields, cursor")
async def test_pages_behind_long_texts_neither_lose_nor_repeat_rows(shop: Shop, registry: Registry, order: str) -> None:
    ends = ["", "a", "b", "b", "\U0001f600", "\U0001f600" * 9_000, "z" * 9_000]
    texts = [LONG + end for end in ends] + ["short", LONG[:200], LONG[:200] + "\n", "\x01" * 9_000, None]
    await shop.products(*[{"description": text} for text in texts])
    rows = [row["id"] for row in await shop.items("products", f"sort={order}&pageSize=100")]
    walked, asked = list[str](), f"sort={order}&pageSize=1"
    model = registry["products"]
    sort = read_query(model, registry, frozenset(), parse_qsl(asked)).sort
    page = await shop.page("products", asked)
    while True:
        walked += [row["id"] for row in items_of(page)]
        if page.last is None:
            break
        cursor = write_cursor(sort, page.last)
        assert len(cursor) < 4_000
        page = await shop.page("products", f"{asked}&cursor={cursor}")
    assert walked == rows


@pytest.mark.parametrize("order", ["description", "description:desc"])
@pytest.mark.parametrize("change", ["deleted", "changed"])
async def test_a_cursor_behind_a_long_text_that_is_gone_loses_no_row(
    shop: Shop, registry: Registry, order: str, change: str
) -> None:
    ids = await shop.products(*[{"description": LONG + end} for end in "abcd"])
    asked = f"sort={order}&pageSize=2"
    sort = read_query(registry["products"], registry, frozenset(), parse_qsl(asked)).sort
    page = await shop.page("products", asked)
    assert page.last is not None
    cursor = write_cursor(sort, page.last)
    last = UUID(items_of(page)[-1]["id"])
    if change == "deleted":
        await shop.remove("products", last)
    else:
        async with shop.database.transaction(HERE) as tx:
            changed = Change(last, {"description": "short"})
            await tx.records.change(registry["products"], [changed], Act(by=None, at=NOW))
    found = await shop.items("products", f"sort={order}&pageSize=9&cursor={cursor}")
    behind = {str(row_id) for row_id in ids} - {row["id"] for row in items_of(page)}
    assert behind <= {row["id"] for row in found}
    if change == "deleted":  # its text still says where the page ended
        assert behind == {row["id"] for row in found}


async def test_the_ends_of_the_calendar_are_days_like_others(shop: Shop) -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    await shop.products({"released_at": last}, {"released_at": last - timedelta(microseconds=1)})
    rows = await shop.items("products", "releasedAt=9999-12-31T23:59:59.999999Z")
    assert [row["releasedAt"] for row in rows] == ["9999-12-31T23:59:59.999999Z"]


@pytest.mark.parametrize(
    ("filtered", "names"),
    [
        (".eq=2026-01-01T00:00:00.0000015Z", ""),
        ("=2026-01-01T00:00:00.0000015Z", ""),
        ("=2026-01-01T00:00:00.0000015Z,2026-01-01T00:00:00.000002Z", "2"),
        (".in=2026-01-01T00:00:00.0000010Z,2026-01-01T00:00:00.0000025Z", "1"),
        (".ne=2026-01-01T00:00:00.0000015Z", "123"),
        (".gt=2026-01-01T00:00:00.0000015Z", "23"),
        (".gte=2026-01-01T00:00:00.0000015Z", "23"),
        (".lt=2026-01-01T00:00:00.0000015Z", "1"),
        (".lte=2026-01-01T00:00:00.0000015Z", "1"),
        ("After=2026-01-01T00:00:00.0000025Z", "3"),
        ("Before=2026-01-01T00:00:00.0000025Z", "12"),
        (".lte=2026-01-01T00:00:00.0000020Z", "12"),
        (".gt=2026-01-01T00:00:00.0000020Z", "3"),
    ],
)
async def test_a_filter_between_two_microseconds_is_compared_exactly(shop: Shop, filtered: str, names: str) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [{"name": str(n), "released_at": start + timedelta(microseconds=n)} for n in (1, 2, 3)]
    await shop.products(*times, {"name": "none"})
    rows = await shop.items("products", f"releasedAt{filtered}&sort=name")
    assert "".join(row["name"] for row in rows) == names


async def test_rows_of_every_tenant_contain_their_tenant_id(shop: Shop) -> None:
    await shop.products({})
    await shop.products({}, scope=THERE)
    rows = await shop.items("products", "fields=sku&sort=id", EveryTenant())
    assert [list(row) for row in rows] == [["id", "tenantId", "sku"]] * 2
    assert {row["tenantId"] for row in rows} == {str(HERE.id), str(THERE.id)}
