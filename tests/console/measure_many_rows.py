"""The grid over 2,000,000 rows of a tenant in PostgreSQL, in Chromium: `make bench-console` prints the times.

Each view asks for one estimate and no count, with few requests.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect

from tests.conftest import NewDatabase
from tests.console.conftest import WIDE, Service, Visitor, open_service

MANY = 2_000_000
COUNTED = "At least 100,000 rows"
PAGE = 100
NUMBERED = 100_000  # rows that are reached by the number of their page

# the newest row has the highest number; nothing refers to anything, so no trigger has to look
FILL = """
INSERT INTO products (tenant_id, id, name, sku, description, price, stock, status, created_at, updated_at, version)
SELECT t.id, (lpad(to_hex(1700000000000 + n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
    'Thing ' || n, 'THING-' || n, 'One of many, packed in box ' || n % 500, (n * 37 % 1000000)::numeric / 100,
    n * 13 % 500, CASE WHEN n % 3 = 0 THEN 'draft' ELSE 'live' END, to_timestamp(1700000000 + n),
    to_timestamp(1700000000 + n), 1
FROM tenants t, generate_series(1, $1::int) n WHERE t.identifier = 'acme'"""

INDEXES = """
SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
WHERE indrelid = 'products'::regclass AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = indexrelid)"""

pytestmark = [pytest.mark.filterwarnings("ignore::ResourceWarning"), pytest.mark.timeout(1_200)]


@pytest_asyncio.fixture(scope="module")
async def crowded(new_database: NewDatabase, redis_url: str) -> AsyncIterator[Service]:
    """A service on a database of its own, which ends with the tests."""
    url = await new_database()
    async with open_service(url, redis_url) as service:
        began = perf_counter()
        owner = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
        async with owner.transaction():
            await owner.execute("SET LOCAL session_replication_role = replica; DELETE FROM products")
            indexes = [tuple(row) for row in await owner.fetch(INDEXES)]
            await owner.execute("; ".join(f"DROP INDEX {name}" for name, _ in indexes))
            await owner.execute(FILL, MANY, timeout=1_000)
            # made of all rows at once an index takes a fraction of the time
            await owner.execute("SET LOCAL maintenance_work_mem = '256MB'")
            for _, made in indexes:
                await owner.execute(made, timeout=1_000)
        await owner.execute("VACUUM ANALYZE products", timeout=1_000)
        await owner.close()
        tell(f"{MANY:,} rows are made", began)
        yield service


@pytest_asyncio.fixture
async def grid(crowded: Service, chromium: Browser) -> AsyncIterator["Grid"]:
    context = await chromium.new_context(viewport=WIDE, locale="en-GB")
    context.set_default_timeout(120_000)
    visitor = Visitor(crowded, context, await context.new_page())
    visitor.watch(visitor.page)
    await visitor.enter("account")
    yield Grid(visitor)
    await context.close()
    assert visitor.complaints == []


def tell(name: str, began: float) -> None:
    print(f"\n{name}: {(perf_counter() - began) * 1_000:,.0f} ms")  # noqa: T201  # what the command is for


class Grid:
    """The grid of products, and what it asked for since the view was changed."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self._seen = len(visitor.requests)

    @property
    def page(self) -> Page:
        return self.visitor.page

    @property
    def first(self) -> Locator:
        return self.page.locator("tbody tr:not(.spacer)").first

    @property
    def asked(self) -> list[dict[str, str]]:
        urls = [urlsplit(request.url) for request in self.visitor.requests[self._seen :]]
        return [{k: v[0] for k, v in parse_qs(url.query).items()} for url in urls if url.path == "/api/products"]

    @asynccontextmanager
    async def measured(self, name: str, most: int = 1) -> AsyncIterator[None]:
        """A change of the view: the first request asks for the estimate, those behind it for rows alone."""
        self._seen, began = len(self.visitor.requests), perf_counter()
        yield
        tell(name, began)
        counts = [query.get("count") for query in self.asked]
        assert counts[0] == "estimated", name
        assert set(counts[1:]) <= {"none"}, name
        assert len(counts) <= most, name

    @asynccontextmanager
    async def further(self, name: str, most: int) -> AsyncIterator[None]:
        """A way through the same view: nothing is counted any more."""
        self._seen, began = len(self.visitor.requests), perf_counter()
        yield
        tell(name, began)
        assert {query.get("count") for query in self.asked} == {"none"}, name
        assert len(self.asked) <= most, name


@pytest.mark.promise(
    "console, budgets: 2,000,000 rows in PostgreSQL are scrolled, jumped in, filtered, searched and sorted without a "
    "count"
)
async def test_two_million_rows_are_scrolled_and_jumped_in_without_a_count(grid: Grid) -> None:
    page, table = grid.page, grid.page.get_by_role("grid")
    async with grid.measured("the first rows"):
        await grid.visitor.go("rows/products")
        await expect(grid.first).to_contain_text(f"Thing {MANY}")
    await expect(page.locator(".foot")).to_contain_text(COUNTED)
    async with grid.further("ten pages further by the wheel", most=20):
        await table.hover()
        for _ in range(10):
            await page.mouse.wheel(0, 3_600)
            await expect(page.locator(".waiting")).to_have_count(0)
    assert await page.locator("tbody tr").count() < 80
    await table.focus()
    async with grid.further(f"to row {NUMBERED:,}", most=3):
        await page.keyboard.press("Control+End")
        await expect(page.get_by_role("link", name=f"Thing {MANY - NUMBERED + 1}", exact=True)).to_be_visible()
    async with grid.further("a page beyond it, by cursor", most=5):
        await page.keyboard.press("Control+End")
        # the window may reach into further pages while the first arrives
        last = "|".join(str(MANY - NUMBERED - pages * PAGE + 1) for pages in range(1, 5))
        await expect(page.get_by_role("link", name=re.compile(f"^Thing ({last})$")).first).to_be_visible()
    assert any("cursor" in query for query in grid.asked)


@pytest.mark.promise(
    "console, budgets: 2,000,000 rows in PostgreSQL are scrolled, jumped in, filtered, searched and sorted without a "
    "count"
)
async def test_views_of_two_million_rows_come_without_a_count(grid: Grid) -> None:
    page = grid.page
    await grid.visitor.go("rows/products")
    await expect(grid.first).to_contain_text("Thing")
    for title, first in (("Name", "Thing 1"), ("Price", "0.00")):
        async with grid.measured(f"sorted by {title}"):
            await page.get_by_role("button", name=title, exact=True).click()
            await expect(grid.first).to_contain_text(first)
            await expect(page.locator(".foot")).to_contain_text(COUNTED)
    await page.get_by_role("button", name="API").click()
    raw = page.get_by_label("Query as the API takes it")
    async with grid.measured("a range of a thousandth of the prices", most=2):
        await raw.fill("price.gte=5000&price.lte=5010")
        await raw.press("Enter")
        await expect(grid.first).to_contain_text("5,0")
        await expect(page.locator(".chip")).to_have_count(2)
    async with grid.measured("the newest of one status"):
        await raw.fill("status=draft")
        await raw.press("Enter")
        await expect(grid.first).to_contain_text("Thing 1999998")
    async with grid.measured("searched for a word of all rows"):
        await raw.fill("search=thing")
        await raw.press("Enter")
        await expect(grid.first).to_contain_text(f"Thing {MANY}")
    async with grid.measured("searched for a word of one row", most=2):
        await raw.fill("search=thing-1234567")
        await raw.press("Enter")
        await expect(grid.first).to_contain_text("Thing 1234567")
        await expect(page.locator(".foot")).to_contain_text("1 row")
