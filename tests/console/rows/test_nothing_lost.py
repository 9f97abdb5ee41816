"""What somebody typed, or sees once, is lost by no stray click, no lost answer and no other tab."""

import re

import pytest
from playwright.async_api import FilePayload, Route, expect

from tests.console.conftest import BOTH, Visitor
from tests.http.app import PASSWORD, TestApp

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def made(app: TestApp, path: str, **values: object) -> str:
    """A row of Acme; returns its id."""
    answer = await app.call("POST", path, as_whom="acme", json=values)
    assert answer.status_code == 201, answer.text
    row_id: str = answer.json()["data"]["id"]
    return row_id


def losing(method: str) -> tuple[list[str], object]:
    """A handler of requests that loses the first answer, once the service has done what was asked."""
    lost: list[str] = []

    async def lose(route: Route) -> None:
        if route.request.method != method or lost:
            await route.continue_()
            return
        lost.append(route.request.url)
        await route.fetch()
        await route.abort()

    return lost, lose


async def branded(app: TestApp, whom: str) -> tuple[str, str]:
    settings = (await app.call("GET", "/api/tenants/current/settings", as_whom=whom)).json()["data"]
    return settings["timezone"], settings["branding"]["name"]


async def test_after_a_switch_no_screen_is_of_the_tenant_before(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    for whom, timezone in (("acme", "Asia/Tokyo"), ("other", "Europe/Lisbon")):
        body = {"branding": {"name": f"Brand of {whom}"}, "timezone": timezone}
        await app.call("PUT", "/api/tenants/current/settings", as_whom=whom, json=body)
    await visitor.open()
    await visitor.sign_in(BOTH)
    await page.get_by_role("button", name="Acme").click()
    await page.get_by_role("link", name="Settings").click()
    await expect(page.locator("input[name='branding.name']")).to_have_value("Brand of acme")
    await page.locator(".top .tenant").click()
    await page.get_by_role("button", name="Other").click()
    await expect(page.locator(".top .tenant")).to_contain_text("Other")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")
    await page.get_by_role("link", name="Settings").click()
    await expect(page.locator("input[name='branding.name']")).to_have_value("Brand of other")
    await page.get_by_role("button", name="Save", exact=True).first.click()
    await visitor.said("Saved.")
    assert await branded(app, "other") == ("Europe/Lisbon", "Brand of other")


async def test_a_switch_asks_about_unsaved_changes(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row_id = await made(app, "/api/categories", name="Typed")
    await visitor.open()
    await visitor.sign_in(BOTH)
    await page.get_by_role("button", name="Acme").click()
    await expect(page.locator("nav.side")).to_be_visible()
    await visitor.go(f"rows/categories/{row_id}")
    await page.get_by_label("Description").fill("for ten minutes")
    await page.locator(".top .tenant").click()
    await page.get_by_role("button", name="Other").click()
    await page.get_by_role("dialog", name="Leave without saving?").get_by_role("button", name="Cancel").click()
    await expect(page.locator(".top .tenant")).to_contain_text("Acme")
    await expect(page.get_by_label("Description")).to_have_value("for ten minutes")


async def test_signing_out_asks_about_unsaved_changes(visitor: Visitor) -> None:
    page = visitor.page
    row_id = await made(visitor.service.app, "/api/categories", name="Typed before the end")
    await visitor.enter("people")
    await visitor.go(f"rows/categories/{row_id}")
    await page.get_by_label("Description").fill("for ten minutes")
    await expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    await page.get_by_role("button", name="Sign out").click()
    dialog = page.get_by_role("dialog", name="Leave without saving?")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_label("Description")).to_have_value("for ten minutes")
    await page.get_by_role("button", name="Sign out").click()
    await dialog.get_by_role("button", name="Leave").click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_focused()


@pytest.mark.parametrize("way", ["back", "history"])
async def test_leaving_a_form_by_back_or_another_tab_asks_before_discarding_changes(visitor: Visitor, way: str) -> None:
    page = visitor.page
    row_id = await made(visitor.service.app, "/api/products", name="Typed", sku="TYPED", price="1.00")
    await visitor.enter("people")
    await visitor.go(f"rows/products/{row_id}")
    await page.get_by_label("Description").fill("for ten minutes")
    await expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    leave = page.go_back if way == "back" else page.get_by_role("link", name=re.compile("Reviews|History")).first.click
    await leave()
    dialog = page.get_by_role("dialog", name="Leave without saving?")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_label("Description")).to_have_value("for ten minutes")
    await expect(page).to_have_url(re.compile(f"{row_id}$"))
    await leave()
    await dialog.get_by_role("button", name="Leave").click()
    await expect(page.get_by_label("Description")).to_have_count(0)


async def test_text_typed_while_a_form_is_saved_is_preserved(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row_id = await made(app, "/api/categories", name="Typed")
    await visitor.enter(f"rows/categories/{row_id}")
    name, description = page.get_by_label("Name"), page.get_by_label("Description")
    await name.fill("Saved")

    async def type_meanwhile(route: Route) -> None:
        if route.request.method == "PATCH":
            await description.fill("typed meanwhile")
        await route.continue_()

    await page.route(f"**/api/categories/{row_id}", type_meanwhile)
    await page.get_by_role("button", name="Save", exact=True).click()
    await visitor.said("Saved.")
    await expect(name).to_have_value("Saved")
    await expect(description).to_have_value("typed meanwhile")
    await expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()


async def test_a_tab_does_not_switch_to_another_signed_in_user(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row_id = await made(app, "/api/categories", name="Mine")
    await visitor.enter(f"rows/categories/{row_id}")
    await page.get_by_label("Description").fill("of the first one")
    before = (await app.call("GET", f"/api/categories/{row_id}", as_whom="acme")).json()["data"]
    visitor.service.let_time_pass()
    headers = {"X-Console": "1", "Origin": visitor.home}
    assert (await visitor.context.request.delete(f"{visitor.home}/console/session", headers=headers)).ok
    other = await visitor.context.request.post(
        f"{visitor.home}/console/session",
        data={"with": "password", "email": BOTH, "password": PASSWORD, "isPasswordEncrypted": False},
        headers=headers,
    )
    assert other.ok
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("Somebody else signed in")
    await expect(page.get_by_label("Description")).to_have_value("of the first one")
    assert (await app.call("GET", f"/api/categories/{row_id}", as_whom="acme")).json()["data"] == before


async def test_text_typed_in_a_form_is_preserved_when_the_session_ends(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row_id = await made(app, "/api/categories", name="Typed")
    await visitor.enter(f"rows/categories/{row_id}")
    await page.get_by_label("Description").fill("for ten minutes")
    await expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    headers = {"X-Console": "1", "Origin": visitor.home}
    session = f"{visitor.home}/console/session"
    assert (await visitor.context.request.delete(session, headers=headers)).ok
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("Your session has ended")
    visitor.service.let_time_pass()
    who = {"email": "admin@acme.example", "password": PASSWORD, "isPasswordEncrypted": False}
    again = await visitor.context.request.post(session, data={"with": "password", **who}, headers=headers)
    assert again.ok, await again.text()
    await page.get_by_role("button", name="Save", exact=True).click()
    await visitor.said("Saved.")
    stored = (await app.call("GET", f"/api/categories/{row_id}", as_whom="acme")).json()["data"]
    assert stored["description"] == "for ten minutes"


@pytest.mark.parametrize("how", ["no network", "503"])
async def test_a_failed_sign_out_is_reported(visitor: Visitor, how: str) -> None:
    page = visitor.page
    await visitor.enter("account")

    async def fail(route: Route) -> None:
        if route.request.method != "DELETE":
            await route.continue_()
        elif how == "503":
            body = '{"isSuccess": false, "errorCode": "SERVICE_UNAVAILABLE", "errorMessage": "Later.", "errors": []}'
            await route.fulfill(status=503, content_type="application/json", body=body)
        else:
            await route.abort()

    await page.route("**/console/session", fail)
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await expect(page.locator(".toasts")).not_to_be_empty()
    await expect(page.locator("nav.side")).to_be_visible()
    await page.unroute("**/console/session")
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await expect(page.get_by_label("E-mail")).to_be_visible()
    assert await visitor.context.cookies() == []


async def test_a_service_that_is_busy_at_a_reload_ends_no_session(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("people")
    body = '{"isSuccess": false, "errorCode": "SERVICE_UNAVAILABLE", "errorMessage": "Later.", "errors": []}'
    await page.route(
        "**/console/session/refresh",
        lambda route: route.fulfill(status=503, content_type="application/json", body=body),
    )
    await page.reload()
    await expect(page.get_by_role("button", name="Try again")).to_be_visible()
    await page.unroute("**/console/session/refresh")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("heading", name="Members")).to_be_visible()


async def test_an_address_that_cannot_be_decoded_is_not_found(visitor: Visitor) -> None:
    await visitor.enter("rows/%E0%A4%A")
    await expect(visitor.page.locator("main h1, main h2").first).to_be_visible()


async def test_a_row_is_created_once_when_the_answer_is_lost(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    product = await made(app, "/api/products", name="P", sku="ONCE-1", price="1.00")
    await visitor.enter(f"rows/reviews/new?productId={product}")
    lost, lose = losing("POST")
    await page.route("**/api/reviews", lose)  # type: ignore[arg-type]
    await page.get_by_label("Rating").fill("5")
    await page.get_by_label("Author").fill("Ada")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_role("button", name="Create").click()
    await visitor.said("Created.")
    assert lost
    stored = (await app.call("GET", f"/api/reviews?productId={product}", as_whom="acme")).json()["data"]
    assert stored["totalCount"] == 1


async def test_a_file_is_imported_once_when_the_answer_is_lost(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    product = await made(app, "/api/products", name="P", sku="ONCE-2", price="1.00")
    await visitor.enter("rows/reviews/import")
    rows = f"productId,rating,author\n{product},4,Ada\n{product},5,Ben\n".encode()
    file = page.locator("input[type=file]")
    await file.set_input_files(FilePayload(name="reviews.csv", mimeType="text/csv", buffer=rows))
    await page.get_by_role("button", name="Check without saving").click()
    await expect(page.get_by_role("heading", name="2 rows would be imported")).to_be_visible()
    lost, lose = losing("POST")
    await page.route("**/api/reviews/import", lose)  # type: ignore[arg-type]
    await page.get_by_role("button", name="Import 2 rows").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_role("button", name="Import 2 rows").click()
    await expect(page.get_by_role("heading", name="2 rows imported")).to_be_visible()
    assert lost
    stored = (await app.call("GET", f"/api/reviews?productId={product}", as_whom="acme")).json()["data"]
    assert stored["totalCount"] == 2


async def test_a_click_outside_a_dialog_discards_no_typed_text(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("people")
    await page.get_by_role("button", name="Add member").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_be_visible()
    await page.mouse.click(5, 5)
    await expect(dialog).to_have_count(0)
    await page.get_by_role("button", name="Add member").click()
    await dialog.get_by_label("Name").fill("Ada Lovelace")
    await page.mouse.click(5, 5)
    await expect(dialog.get_by_label("Name")).to_have_value("Ada Lovelace")


async def test_enter_chooses_only_a_row_that_matches_the_search(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products/new")
    box = page.get_by_role("combobox", name="Category")
    await box.press("ArrowDown")
    options = page.get_by_role("listbox").get_by_role("option")
    await expect(options.first).to_be_visible()
    await page.keyboard.type("Category 07")
    await page.keyboard.press("Enter")
    await expect(options).to_have_text(["Category 07"])
    await page.keyboard.press("Enter")
    await expect(page.locator(".chosen")).to_have_text(re.compile("Category 07"))


async def test_line_breaks_of_a_text_stay(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row_id = await made(app, "/api/products", name="First line\nsecond line", sku="LINES", price="1.00")
    await visitor.enter(f"rows/products/{row_id}")
    await page.get_by_label("Name").press("End")
    await page.get_by_label("Stock").fill("3")
    await page.get_by_label("Name").fill("First line\nsecond line!")
    await page.get_by_role("button", name="Save", exact=True).click()
    await visitor.said("Saved.")
    stored = (await app.call("GET", f"/api/products/{row_id}", as_whom="acme")).json()["data"]
    assert stored["name"] == "First line\nsecond line!"


async def test_a_concurrently_granted_permission_is_preserved(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    body = {"name": "Packer", "permissions": ["read:products", "read:reviews"]}
    added = await app.call("POST", "/api/roles", as_whom="acme", json=body)
    assert added.status_code == 201, added.text
    role = added.json()["data"]["id"]
    await visitor.enter("roles")
    await page.get_by_role("button", name="Products").click()
    await page.get_by_label("Packer: update:products").check()
    meanwhile = {"permissions": ["read:products", "read:categories"]}
    await app.call("PUT", f"/api/roles/{role}", as_whom="acme", json=meanwhile)
    await page.get_by_role("button", name="Save 1 role").click()
    await visitor.said("Saved.")
    roles = (await app.call("GET", "/api/roles", as_whom="acme")).json()["items"]
    (stored,) = [listed for listed in roles if listed["id"] == role]
    assert sorted(stored["permissions"]) == ["read:categories", "read:products", "update:products"]


TYPED_AT_ONCE = """new MutationObserver(() => {
  const field = document.querySelector('textarea[name=description]')
  if (!field || window.typed) return
  window.typed = true
  field.value = 'typed at once'
  field.dispatchEvent(new Event('input', {bubbles: true}))
}).observe(document, {childList: true, subtree: true})"""


async def test_text_typed_as_soon_as_a_form_appears_is_preserved(visitor: Visitor) -> None:
    page = visitor.page
    row_id = await made(visitor.service.app, "/api/categories", name="Typed")
    await visitor.enter()
    await page.add_init_script(TYPED_AT_ONCE)
    await visitor.open(f"rows/categories/{row_id}")
    await expect(page.get_by_role("button", name="Save", exact=True)).to_be_enabled()
    await expect(page.get_by_label("Description")).to_have_value("typed at once")
