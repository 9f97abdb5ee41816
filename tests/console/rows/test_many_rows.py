"""The grid over more rows than a page can hold: what is fetched, what is in the page, how quickly it follows."""

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Route, expect

from tests.console.conftest import Visitor

MANY = 2_000_000
NUMBERED = 100_000  # rows that are reached by the number of their page
PAGE = 100

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


class ManyProducts:
    """Answers lists of products as if there were two million, and keeps what was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []

    async def answer(self, route: Route) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(route.request.url).query).items()}
        self.asked.append(query)
        first = int(query["cursor"]) if "cursor" in query else (int(query["page"]) - 1) * PAGE
        is_counted = query["count"] == "estimated"
        data = {
            "items": [self.row(first + number) for number in range(PAGE)],
            "totalCount": MANY if is_counted else None,
            "hasNextPage": True,
            "nextCursor": str(first + PAGE),
        }
        if is_counted:
            data["totalCountIsEstimate"] = True
        await route.fulfill(
            status=200, content_type="application/json", body=json.dumps({"success": True, "data": data})
        )

    def row(self, number: int) -> dict[str, object]:
        identity = f"00000000-0000-7000-8000-{number:012}"
        return {
            "id": identity,
            "name": f"Row {number}",
            "sku": f"S-{number}",
            "price": 1.5,
            "status": "live",
            "version": 1,
        }


async def run(visitor: Visitor, expression: str) -> object:
    session = await visitor.context.new_cdp_session(visitor.page)
    asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
    answer = await session.send("Runtime.evaluate", asked)
    await session.detach()
    value: object = answer["result"].get("value")
    return value


@pytest.mark.promise("console, budgets: Few elements and few requests over 2,000,000 rows")
@pytest.mark.promise("console, attacks: Millions of rows, 200 fields, cells of 64 kB")
async def test_two_million_rows_scroll_in_a_small_page_and_go_on_by_cursor(visitor: Visitor) -> None:
    page, products = visitor.page, ManyProducts()
    await visitor.enter("account")
    await page.route("**/api/products?**", products.answer)
    await visitor.open("rows/products")
    await expect(page.get_by_role("link", name="Row 0", exact=True)).to_be_visible()
    await expect(page.locator(".foot")).to_contain_text("At least 2,000,000 rows")
    assert [query["count"] for query in products.asked] == ["estimated"]
    grid = page.get_by_role("grid")
    await grid.focus()
    await page.keyboard.press("Control+End")
    await expect(page.get_by_role("link", name=f"Row {NUMBERED - 1}", exact=True)).to_be_visible()
    # one page more by cursor, or two where the window reaches into the second
    counts = "|".join(str(NUMBERED + pages * PAGE + 1) for pages in (1, 2))
    await expect(grid).to_have_attribute("aria-rowcount", re.compile(f"^({counts})$"))
    await page.keyboard.press("Control+End")
    last = "|".join(str(NUMBERED + pages * PAGE - 1) for pages in (1, 2, 3))
    await expect(page.get_by_role("link", name=re.compile(f"^Row ({last})$")).first).to_be_visible()
    assert any("cursor" in query for query in products.asked)
    assert len(products.asked) < 10
    assert await page.locator("tbody tr").count() < 80


@pytest.mark.promise("console, budgets: Few elements and few requests over 2,000,000 rows")
async def test_the_first_rows_come_quickly_and_scrolling_follows(visitor: Visitor) -> None:
    """Times are reported by ``make bench`` elsewhere; here the work is counted: elements, and rows per frame."""
    page, products = visitor.page, ManyProducts()
    await visitor.enter("account")
    await page.route("**/api/products?**", products.answer)
    await visitor.open("rows/products")
    await expect(page.get_by_role("link", name="Row 0", exact=True)).to_be_visible()
    scroll = """new Promise(done => {
      const box = document.querySelector('.grid'), most = [];
      let step = 0;
      const next = () => {
        box.scrollTop += 20_000;
        most.push(document.querySelectorAll('.grid *').length);
        if (++step < 60) requestAnimationFrame(next); else done(Math.max(...most));
      };
      next();
    })"""
    most = await run(visitor, scroll)
    assert isinstance(most, int)
    assert most < 1_200
    await expect(page.locator(".waiting")).to_have_count(0)
    assert len(products.asked) < 30


@pytest.mark.promise("console, attacks: Millions of rows, 200 fields, cells of 64 kB")
async def test_an_entity_of_200_fields_and_long_texts_stays_usable(visitor: Visitor) -> None:
    page = visitor.page
    fields = [
        {
            "name": f"f{number}",
            "title": f"Field {number}",
            "kind": "text",
            "required": number == 0,
            "nullable": True,
            "default": None,
            "writable": True,
            "rules": {"maxLength": 70_000},
            "operators": ["eq", "contains"],
            "sortable": True,
            "indexed": False,
            "help": None,
            "widget": None,
        }
        for number in range(200)
    ]
    may = dict.fromkeys(("create", "read", "update", "delete", "purge", "import", "export"), True)
    wide = {
        "plural": "wides",
        "name": "Wide",
        "title": "Wides",
        "display": "f0",
        "columns": [field["name"] for field in fields],
        "may": may,
        "own": [],
        "mine": [],
        "has": {"softDelete": False, "history": False, "changes": False, "search": [], "tenantOwned": True},
        "sort": "createdAt:desc",
        "limits": {"pageSize": 100, "batch": 1000},
        "fields": fields,
        "relations": [],
        "unique": [],
    }
    row = {"id": "00000000-0000-7000-8000-000000000001", **{field["name"]: "x" * 64_000 for field in fields[:20]}}

    async def described(route: Route) -> None:
        data = {"entities": [wide], "areas": []}
        await route.fulfill(
            status=200, content_type="application/json", body=json.dumps({"success": True, "data": data})
        )

    async def listed(route: Route) -> None:
        data = {"items": [row] * 2, "totalCount": 2, "hasNextPage": False}
        await route.fulfill(
            status=200, content_type="application/json", body=json.dumps({"success": True, "data": data})
        )

    await page.route("**/api/entities", described)
    await page.route("**/api/wides?**", listed)
    await visitor.enter("rows/wides")
    await expect(page.locator("tbody a").first).to_be_visible()
    assert len(await page.locator("tbody td").nth(1).inner_text()) <= 301
    await visitor.open("rows/wides/new")
    await page.get_by_label("Field 199").fill("last")
    await expect(page.get_by_label("Field 199")).to_have_value("last")
