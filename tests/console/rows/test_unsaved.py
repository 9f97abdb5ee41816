"""Every form asks before somebody leaves it with unsaved changes, and lets them go once it is saved.

A row that somebody else changed or deleted while one typed: what was typed stays, and is sent when one says so.
"""

import re
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.console.conftest import Visitor
from tests.console.rows.test_nothing_lost import made
from tests.http.app import TestApp

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def packer(app: TestApp) -> None:
    added = await app.call("POST", "/api/roles", as_whom="acme", json={"name": "Packer", "permissions": []})
    assert added.status_code == 201, added.text


async def member(app: TestApp) -> str:
    return await app.make_user("acme", "unsaved@acme.example", ["Reader"])


async def roles(visitor: Visitor) -> Locator:
    await packer(visitor.service.app)
    await visitor.enter("roles")
    await visitor.page.get_by_label("Packer: Products").select_option(label="Read")
    return visitor.page.get_by_role("button", name="Save 1 role")


async def settings(visitor: Visitor) -> Locator:
    await visitor.enter("settings")
    # spaces at the end are not stored: what is stored then stands in the field
    await visitor.page.get_by_label("Name shown to users").fill("Acme & Sons ")
    form = visitor.page.locator("form", has=visitor.page.get_by_role("heading", name="Branding"))
    return form.get_by_role("button", name="Save", exact=True)


async def security(visitor: Visitor) -> Locator:
    await visitor.enter("settings")
    await visitor.page.get_by_label("Ask every member for a second factor").check()
    await visitor.page.get_by_label("Ask every member for a second factor").uncheck()
    await visitor.page.get_by_label("Session lifetime (days)").fill("30")
    return visitor.page.get_by_role("button", name="Save security")


async def person(visitor: Visitor) -> Locator:
    await visitor.enter(f"people/{await member(visitor.service.app)}")
    await visitor.page.get_by_label("Name", exact=True).fill("Grace Hopper ")
    return visitor.page.get_by_role("button", name="Save", exact=True)


async def roles_of_a_person(visitor: Visitor) -> Locator:
    await visitor.enter(f"people/{await member(visitor.service.app)}")
    await visitor.page.get_by_label("Admin", exact=True).check()
    return visitor.page.get_by_role("button", name="Save", exact=True)


def leaving(page: Page) -> Locator:
    return page.get_by_role("dialog", name="Leave without saving?")


@pytest.mark.promise("console, accessibility and states: nothing that was typed is lost")
@pytest.mark.parametrize("change", [roles, settings, security, person, roles_of_a_person])
async def test_a_form_with_unsaved_changes_asks_until_it_is_saved(
    visitor: Visitor, change: Callable[[Visitor], Awaitable[Locator]]
) -> None:
    page = visitor.page
    save = await change(visitor)
    address = page.url
    await page.get_by_role("link", name="Home").click()
    await leaving(page).get_by_role("button", name="Cancel").click()
    await expect(page).to_have_url(address)
    await save.click()
    await visitor.said("Saved.")
    await page.get_by_role("link", name="Home").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")


@pytest.mark.promise("console, accessibility and states: nothing that was typed is lost")
async def test_a_form_without_changes_does_not_cancel_the_question_of_another_form(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("settings")
    name, currency = page.get_by_label("Name shown to users"), page.get_by_label("Currency")
    before = await name.input_value()
    days = page.get_by_label("Session lifetime (days)")
    await name.fill("Acme & Sons")
    await days.fill("30")
    await name.fill(before)
    await expect(currency).to_be_visible()
    await page.get_by_role("link", name="Home").click()
    await leaving(page).get_by_role("button", name="Cancel").click()
    await expect(days).to_have_value("30")
    await days.fill("")
    await page.get_by_role("link", name="Home").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")


async def test_removing_a_person_leaves_the_page_without_a_question(visitor: Visitor) -> None:
    page = visitor.page
    await person(visitor)
    await page.get_by_role("button", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("heading", name="Members")).to_be_visible()


@pytest.mark.promise("console, accessibility and states: nothing that was typed is lost")
@pytest.mark.parametrize("how", ["Escape", "the cross"])
async def test_a_dialog_asks_before_it_discards_typed_text(visitor: Visitor, how: str) -> None:
    page = visitor.page
    await visitor.enter("people")
    adding = page.get_by_role("button", name="Add member")
    dialog = page.get_by_role("dialog", name="Add member")
    name = dialog.get_by_label("Name")

    async def close() -> None:
        if how == "Escape":
            await page.keyboard.press("Escape")
        else:
            await dialog.get_by_role("button", name="Close").click()

    await adding.click()
    await name.fill("Ada")
    await name.fill("")
    await close()
    await expect(dialog).to_have_count(0)
    await adding.click()
    await name.fill("Ada")
    # after some of them without a click between, browsers ask no page whether a dialog may close
    for _ in range(3):
        await close()
        await expect(leaving(page)).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(leaving(page)).to_have_count(0)
        await expect(name).to_have_value("Ada")
    await close()
    await leaving(page).get_by_role("button", name="Leave").click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(adding).to_be_focused()


async def test_a_dialog_with_a_ticked_box_asks_and_one_that_is_saved_does_not(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("keys")
    await page.get_by_role("button", name="Add service account").click()
    dialog = page.get_by_role("dialog", name="Add service account")
    await dialog.get_by_text("Reader", exact=True).click()
    await page.keyboard.press("Escape")
    await leaving(page).get_by_role("button", name="Cancel").click()
    await expect(dialog.get_by_label("Reader", exact=True)).to_be_checked()
    await dialog.get_by_label("Name").fill("Robot")
    await dialog.get_by_role("button", name="Add service account").click()
    await expect(page.get_by_role("heading", name="Robot", level=1)).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_the_change_of_many_rows_asks_once_something_is_chosen(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.get_by_label(re.compile("^Select Lamp")).first.check()
    await page.get_by_role("button", name="Edit", exact=True).click()
    dialog = page.get_by_role("dialog", name="Edit 1 row")
    await dialog.get_by_label("Field").select_option("categoryId")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.get_by_role("button", name="Edit", exact=True).click()
    await dialog.get_by_label("Field").select_option("categoryId")
    await dialog.get_by_role("combobox", name="Category").click()
    await dialog.get_by_role("option", name="Category 21").click()
    await page.keyboard.press("Escape")
    await leaving(page).get_by_role("button", name="Cancel").click()
    await expect(dialog.get_by_role("link", name="Category 21")).to_be_visible()


@pytest.mark.promise("console, journeys: a row with its errors at their fields, and one that somebody else changed")
async def test_enter_in_the_choice_between_two_values_sends_nothing(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row_id = await made(app, "/api/categories", name="Contested")
    path = f"/api/categories/{row_id}"
    await visitor.enter(f"rows/categories/{row_id}")
    await page.get_by_label("Description").fill("mine")
    await app.call("PATCH", path, as_whom="acme", json={"description": "theirs"})
    await page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio").first.check()
    sent = len([request for request in visitor.requests if request.method == "PATCH"])
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("radio").first).to_be_checked()
    await dialog.get_by_role("button", name="Save the chosen values").click()
    await expect(dialog).to_have_count(0)
    assert len([request for request in visitor.requests if request.method == "PATCH"]) == sent
    stored = (await app.call("GET", path, as_whom="acme")).json()["data"]
    assert stored["description"] == "theirs"


@pytest.mark.promise("console, journeys: a row with its errors at their fields, and one that somebody else changed")
async def test_a_refused_value_of_a_conflict_is_reported_at_its_field(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row_id = await made(app, "/api/categories", name="Contested")
    await visitor.enter(f"rows/categories/{row_id}")
    await page.get_by_label("Name").fill("Category 07")
    await app.call("PATCH", f"/api/categories/{row_id}", as_whom="acme", json={"description": "theirs"})
    await page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Save the chosen values").click()
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(page.get_by_label("Name")).to_have_attribute("aria-invalid", "true")


@pytest.mark.promise("console, journeys: a row with its errors at their fields, and one that somebody else changed")
@pytest.mark.parametrize("is_seen", [True, False], ids=["by those who see deleted rows", "by others"])
async def test_a_concurrently_deleted_row_is_reported_as_deleted(visitor: Visitor, *, is_seen: bool) -> None:
    page, app = visitor.page, visitor.service.app
    row_id = await made(app, "/api/categories", name="Deleted meanwhile")
    email = "editor@acme.example"
    permissions = ["read:categories", "update:categories", *(["delete:categories"] if is_seen else [])]
    role = {"name": "Category editor", "permissions": permissions}
    assert (await app.call("POST", "/api/roles", as_whom="acme", json=role)).status_code == 201
    await app.make_user("acme", email, ["Category editor"])
    await visitor.enter(f"rows/categories/{row_id}", email)
    await page.get_by_label("Description").fill("mine")
    assert (await app.call("DELETE", f"/api/categories/{row_id}", as_whom="acme")).status_code == 204
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_have_text("Somebody deleted this row meanwhile. Nothing was saved.")
    await expect(page.get_by_label("Description")).to_have_value("mine")


async def test_a_removed_required_value_is_reported_as_required(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    review = {"rating": 3, "author": "Ada"}
    product = (await app.call("GET", "/api/products?sku=LAMP-007", as_whom="acme")).json()["data"]["items"][0]["id"]
    made = await app.call("POST", "/api/reviews", as_whom="acme", json={**review, "productId": product})
    await visitor.enter(f"rows/reviews/{made.json()['data']['id']}")
    await page.get_by_role("button", name="Remove Product").click()
    await page.get_by_label("Rating").fill("")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator(".problem")).to_have_text(["is required", "is required"])


@pytest.mark.promise(
    "console, journeys: Values of selected rows are taken away after a question alone, and what is wrong is told once"
)
async def test_emptying_a_field_of_selected_rows_asks_first_and_reports_an_error_once(visitor: Visitor) -> None:
    page, asked = visitor.page, list[str]()
    page.on("request", lambda request: asked.append(request.url) if request.method == "PUT" else None)
    await visitor.enter("rows/products")
    for name in ("Lamp 249", "Lamp 248", "Lamp 247"):
        await page.get_by_label(f"Select {name}").check()
    await page.get_by_role("button", name="Edit", exact=True).click()
    dialog = page.get_by_role("dialog", name="Edit 3 rows")
    send = dialog.get_by_role("button", name="Change 3 rows")
    question = page.get_by_role("dialog", name="Empty Name in 3 rows?")
    await send.click()
    await question.get_by_role("button", name="Cancel").click()
    assert asked == []
    await send.click()
    await question.get_by_role("button", name="Change 3 rows").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("Name: ")
    text = await dialog.get_by_role("alert").inner_text()
    assert "items" not in text
    assert text.count("Name: ") == 1


async def test_a_row_that_two_delete_is_shown_as_deleted(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row = await made(app, "/api/products", name="Twice deleted", sku="TWICE-1", price="1.00")
    await visitor.enter(f"rows/products/{row}")
    delete = page.get_by_role("button", name="Delete", exact=True)
    await expect(delete).to_be_visible()
    assert (await app.call("DELETE", f"/api/products/{row}", as_whom="acme")).status_code == 204
    await delete.click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await visitor.said("Somebody deleted this row meanwhile.")
    await expect(page.get_by_role("button", name="Restore")).to_be_visible()


async def test_an_error_page_of_a_proxy_is_reported_as_an_unavailable_service(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row = await made(app, "/api/products", name="Behind a proxy", sku="PROXY-1", price="1.00")
    await visitor.enter(f"rows/products/{row}")
    await page.get_by_label("Price").fill("2.00")

    async def bad_gateway(route: Route) -> None:
        await route.fulfill(status=502, content_type="text/html", body="<h1>Bad Gateway</h1>")

    await page.route("**/api/products/*", bad_gateway)
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_have_text("The service cannot be reached.")
