"""What other pages and other people's texts try: frames, addresses of scripts, turned texts, forced addresses."""

import json
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Browser, Route, expect

from tests.console.conftest import Service, Visitor

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

HARMLESS = ["https://ok.example/", "http://ok.example/", "mailto:a@ok.example"]
HOSTILE = [
    "javascript:alert(1)",
    " JavaScript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://ok.example/x",
    "//ok.example",
]
TURNED = "\N{RIGHT-TO-LEFT OVERRIDE}gnp.exe\N{ZERO WIDTH SPACE}\N{ZERO WIDTH JOINER}"

FORCED = [
    "roles",
    "keys",
    "keys/00000000-0000-7000-8000-000000000001",
    "audit",
    "audit/row/00000000-0000-7000-8000-000000000001",
    "tenants",
    "tenants/00000000-0000-7000-8000-000000000001",
    "system",
    "rows/applications",
    "rows/audit-events",
    "rows/categories",
    "rows/categories/new",
    "rows/categories/import",
    "rows/products/new",
    "rows/products/import",
    "rows/nothing",
]
"""Addresses of what a Reader of products and members may not do."""

OWN = {"/console/session/refresh", "/api/entities", "/api/auth/me/complete", "/api/tenants/current"}
"""What everybody reads who opens the console: who they are, and what they may see."""


def answering(data: object) -> Callable[[Route], Awaitable[None]]:
    async def answer(route: Route) -> None:
        await route.fulfill(content_type="application/json", body=json.dumps({"success": True, "data": data}))

    return answer


async def serve_products(visitor: Visitor, texts: list[str]) -> list[dict[str, object]]:
    """Products with a field of addresses, of hostile names, that has one of the texts each."""
    page = visitor.page
    meta = (await visitor.service.app.call("GET", "/api/entities", as_whom="acme")).json()["data"]
    products = next(entity for entity in meta["entities"] if entity["plural"] == "products")
    field = next(field for field in products["fields"] if field["name"] == "name")
    products["fields"].append({**field, "name": "link", "title": TURNED, "widget": "url"})
    products["columns"] = ["sku", "link"]
    rows: list[dict[str, object]] = [
        {"id": f"00000000-0000-7000-8000-{number:012}", "sku": f"S-{number}", "name": text, "link": text, "version": 1}
        for number, text in enumerate(texts)
    ]
    await page.route("**/api/entities", answering(meta))
    await page.route("**/api/products?**", answering({"items": rows, "totalCount": len(rows), "hasNextPage": False}))
    for row in rows:
        await page.route(f"**/api/products/{row['id']}**", answering(row))
    return rows


@pytest.mark.promise(
    "console, attacks: javascript: and other addresses that are no links; texts that turn their neighbours"
)
async def test_only_harmless_addresses_become_links_and_no_text_turns_its_neighbours(visitor: Visitor) -> None:
    page = visitor.page
    rows = await serve_products(visitor, [*HARMLESS, *HOSTILE, TURNED])
    await visitor.enter("rows/products")
    await expect(page.get_by_role("link", name="S-0", exact=True)).to_be_visible()
    hrefs = await page.locator("tbody a[target=_blank]").evaluate_all("links => links.map(link => link.href)")
    assert hrefs == HARMLESS
    # what stands in <bdi> turns nothing beside it
    loose = """() => {
      const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT), found = [];
      for (let text = texts.nextNode(); text; text = texts.nextNode())
        if (text.data.includes('gnp.exe') && !text.parentElement.closest('bdi, option, input, textarea'))
          found.push(text.parentElement.outerHTML);
      return found;
    }"""
    assert await page.evaluate(loose) == []
    for row in rows:
        await visitor.go(f"rows/products/{row['id']}")
        await expect(page.get_by_label("SKU")).to_have_value(str(row["sku"]))
        opened = await page.locator("form a[target=_blank]").evaluate_all("links => links.map(link => link.href)")
        assert opened == [row["link"]] * (row["link"] in HARMLESS)
        assert await page.evaluate(loose) == []


@pytest.mark.promise("console, attacks: Clicks through a frame of another page")
async def test_no_page_of_another_origin_frames_the_console(service: Service, chromium: Browser) -> None:
    context = await chromium.new_context()
    page = await context.new_page()

    async def framing(route: Route) -> None:
        await route.fulfill(content_type="text/html", body=f'<iframe src="{service.home}/console/"></iframe>')

    await page.route("http://evil.example/", framing)
    await page.goto("http://evil.example/")
    (framed,) = [frame for frame in page.frames if frame is not page.main_frame]
    await framed.wait_for_url("chrome-error://**")
    assert await framed.locator("input").count() == 0
    await context.close()


@pytest.mark.promise("console, attacks: Forced addresses: a member is shown and sent nothing of what they may not do")
async def test_forced_addresses_show_a_member_nothing_and_fetch_nothing(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(email="reader@acme.example")
    for path in FORCED:
        await page.goto("about:blank")  # ends what the page before still asks for
        seen = len(visitor.requests)
        await visitor.open(path)
        await expect(page.get_by_role("heading", name="No access")).to_be_visible()
        answers = [await request.response() for request in visitor.requests[seen:] if request.resource_type == "fetch"]
        read = {answer.url.removeprefix(visitor.home) for answer in answers if answer is not None and answer.ok}
        assert read <= OWN, path
    for path in ("people", "settings", "account", ""):
        await visitor.open(path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert await page.get_by_role("button", name="Add member").count() == 0
        assert await page.get_by_role("button", name="Invite").count() == 0
        assert await page.get_by_role("button", name="Save", exact=True).count() == 0
