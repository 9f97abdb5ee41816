"""A row that somebody else changed or deleted while one typed: what was typed stays, and is sent when one says so."""

import pytest
from playwright.async_api import expect

from tests.console.conftest import Visitor
from tests.console.test_nothing_lost import made

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


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


async def test_a_chosen_value_that_is_refused_is_told_at_its_field(visitor: Visitor) -> None:
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


@pytest.mark.parametrize("is_seen", [True, False], ids=["by those who see deleted rows", "by others"])
async def test_a_row_that_was_deleted_meanwhile_is_told_as_such(visitor: Visitor, *, is_seen: bool) -> None:
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
