"""What nobody gets out of the console: tokens, screens of others, markup, other sites after the sign-in."""

import json

import pytest
from playwright.async_api import FilePayload, Route, expect

from tests.console.conftest import Visitor
from tests.console.test_nothing_lost import made

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def evaluate(visitor: Visitor, expression: str) -> object:
    """By the debugger: the page's policy forbids evaluating text."""
    session = await visitor.context.new_cdp_session(visitor.page)
    answer = await session.send("Runtime.evaluate", {"expression": expression, "returnByValue": True})
    await session.detach()
    value: object = answer["result"].get("value")
    return value


@pytest.mark.promise("console, attacks: the cookie in an answer, the token in an address, in storage or in a log")
async def test_scripts_can_keep_no_token(visitor: Visitor) -> None:
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
async def test_a_member_sees_no_administration_and_is_told_so_at_its_addresses(visitor: Visitor) -> None:
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
async def test_signing_in_leads_to_addresses_of_the_console_alone(visitor: Visitor) -> None:
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
async def test_without_the_service_nothing_is_lost(visitor: Visitor) -> None:
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
