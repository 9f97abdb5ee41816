"""What nobody gets out of the console: tokens, screens of others, markup, other sites after the sign-in.

What other pages and other people's texts try: frames, addresses of scripts, turned texts, forced addresses.
"""

import json
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Browser, FilePayload, Route, expect

from tests.console.conftest import Service, Visitor
from tests.console.rows.test_nothing_lost import made

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def evaluate(visitor: Visitor, expression: str) -> object:
    """By the debugger: the page's policy forbids evaluating text."""
    session = await visitor.context.new_cdp_session(visitor.page)
    answer = await session.send("Runtime.evaluate", {"expression": expression, "returnByValue": True})
    await session.detach()
    value: object = answer["result"].get("value")
    return value


@pytest.mark.promise("console, attacks: the cookie in an answer, the token in an address, in storage or in a log")
async def test_scripts_cannot_read_a_token_from_storage_or_answers(visitor: Visitor) -> None:
    await visitor.enter("rows/products")
    await expect(visitor.page.get_by_role("grid")).to_be_visible()
    kept = await evaluate(
        visitor, "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"
    )
    assert isinstance(kept, str)
    assert "eyJ" not in kept
    cookies = await visitor.context.cookies()
    assert [(cookie.get("httpOnly"), cookie.get("sameSite")) for cookie in cookies] == [(True, "Strict")]
    for request in visitor.requests:
        assert "eyJ" not in request.url
        response = await request.response()
        if response is not None and "/console/session" in request.url:
            assert "refreshToken" not in await response.text()


@pytest.mark.promise("console, budgets: no count that nobody asked for")
async def test_the_console_never_asks_for_an_exact_count(visitor: Visitor) -> None:
    await visitor.enter()
    await visitor.open("rows/products")
    await expect(visitor.page.locator("tbody a").first).to_be_visible()
    lists = [request.url for request in visitor.requests if "/api/products?" in request.url]
    assert lists
    assert all("count=estimated" in url or "count=none" in url for url in lists)


@pytest.mark.promise("console, attacks: Other traffic than the public API")
async def test_everything_but_the_session_is_the_public_api(visitor: Visitor) -> None:
    await visitor.enter()
    for path in ("rows/products", "people", "roles", "settings", "account", "audit"):
        await visitor.open(path)
        await expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
    fetched = {
        request.url.removeprefix(visitor.home) for request in visitor.requests if request.resource_type == "fetch"
    }
    own = {path for path in fetched if not path.startswith(("/api/", "/console/session"))}
    assert own == set()


@pytest.mark.promise("console, attacks: Forced addresses: a member is shown and sent nothing of what they may not do")
async def test_a_member_sees_no_administration_and_gets_no_access_at_its_addresses(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(email="reader@acme.example")
    links = await page.get_by_role("navigation").get_by_role("link").all_inner_texts()
    assert {"Roles", "Audit trail", "Tenants", "System", "Categories"}.isdisjoint(links)
    assert {"Home", "Products", "Members"} <= set(links)
    for path in ("roles", "audit", "tenants", "system", "rows/categories", "rows/products/new", "rows/products/import"):
        await visitor.open(path)
        await expect(page.get_by_role("heading", name="No access")).to_be_visible()
    await visitor.open("rows/products")
    await expect(page.get_by_role("grid")).to_be_visible()
    assert await page.get_by_role("link", name="New").count() == 0
    await page.locator("tbody a").first.click()
    await expect(page.get_by_label("SKU")).to_be_disabled()
    assert await page.get_by_role("button", name="Delete").count() == 0


@pytest.mark.promise("console, attacks: an address to go on to after the sign-in")
async def test_signing_in_leads_only_to_addresses_of_the_console(visitor: Visitor) -> None:
    await visitor.open("rows/products?to=https://example.org&next=//example.org")
    await visitor.sign_in()
    await expect(visitor.page.get_by_role("heading", name="Products")).to_be_visible()
    assert visitor.page.url.startswith(f"{visitor.home}/console/rows/products")


@pytest.mark.promise("console, attacks: Names, rows, names of files and errors with markup")
async def test_what_the_service_answers_is_never_markup(visitor: Visitor) -> None:
    """Errors, names of files and of columns arrive as texts."""
    hostile = "<img src=x onerror=alert(1)>"

    async def refuse(route: Route) -> None:
        error = {"success": False, "error": {"code": "BAD_REQUEST", "message": hostile, "traceId": hostile}}
        await route.fulfill(status=400, content_type="application/json", body=json.dumps(error))

    await visitor.enter("rows/categories")
    await visitor.page.route("**/api/products?**", refuse)
    await visitor.open("rows/products")
    await expect(visitor.page.get_by_role("alert")).to_contain_text(hostile)
    await visitor.open("rows/products/import")
    file = FilePayload(name=f"{hostile}.csv", mimeType="text/csv", buffer=f"{hostile},sku\n1,2\n".encode())
    await visitor.page.locator("input[type=file]").set_input_files([file])
    await expect(visitor.page.get_by_role("rowheader", name=hostile)).to_be_visible()
    await expect(visitor.page.get_by_role("alert")).to_contain_text(f"{hostile}: is not known")
    await visitor.page.route("**/api/products/import", refuse)
    await visitor.page.get_by_role("button", name="Check without saving").click()
    await expect(visitor.page.get_by_role("alert")).to_have_text(hostile)
    assert await visitor.page.locator("main img").count() == 0


@pytest.mark.promise("console, accessibility and states: nothing that was typed is lost")
async def test_typed_text_is_preserved_while_the_service_is_unreachable(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.locator("tbody a").first.click()
    await page.get_by_label("Stock").fill("44")
    await visitor.context.set_offline(True)
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("cannot be reached")
    await visitor.context.set_offline(False)
    await expect(page.get_by_label("Stock")).to_have_value("44")
    await page.get_by_role("button", name="Save", exact=True).click()
    await visitor.said("Saved.")


async def test_a_session_that_was_ended_leads_to_the_sign_in_and_back(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("people")
    await visitor.context.clear_cookies()
    await page.reload()
    await visitor.sign_in()
    await expect(page.get_by_role("heading", name="Members")).to_be_visible()


@pytest.mark.promise("console, accessibility and states: nothing that was typed is lost")
async def test_unsaved_changes_are_asked_about(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.locator("tbody a").first.click()
    await page.get_by_label("Stock").fill("3")
    await page.get_by_role("link", name="Home").click()
    dialog = page.get_by_role("dialog", name="Leave without saving?")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_label("Stock")).to_have_value("3")
    await page.get_by_role("link", name="Home").click()
    await dialog.get_by_role("button", name="Leave").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")


@pytest.mark.promise("console, attacks: an address whose id leads to another entity")
async def test_an_address_cannot_name_a_row_of_another_entity(visitor: Visitor) -> None:
    page = visitor.page
    row_id = await made(visitor.service.app, "/api/categories", name="Elsewhere")
    await visitor.enter(f"rows/products/..%2Fcategories%2F{row_id}")
    await expect(page.get_by_role("heading", name="Not found")).to_be_visible()
    await visitor.open(f"rows/products/new?categoryId=..%2Fcategories%2F{row_id}")
    await expect(page.locator(".chosen")).to_have_text("../categories")


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
