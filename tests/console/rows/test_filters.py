"""Filters of the grid are read as people chose them, and not as the API spells them.

References to rows and people that the reader may not see: told to be such, by a short id, and kept by forms.
"""

import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations
from tests.console.rows.test_nothing_lost import made

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.promise("console, journeys: Filters are read as they were chosen")
async def test_chips_show_names_dates_and_answers(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    lamps, chairs = [await made(app, "/api/categories", name=name) for name in ("Lamps", "Chairs")]
    email = "filters@acme.example"
    await app.make_user("acme", email, ["Admin"])
    admin = (await app.call("GET", "/api/auth/me", as_whom="acme")).json()["data"]["id"]
    filters = {
        f"categoryId.eq={lamps}": "Lamps",
        f"categoryId.in={lamps},{chairs}": "Lamps, Chairs",
        f"createdBy.eq={admin}": "Somebody Else",
        "releasedAt.gte=2026-01-02T10:00:00Z": "2 Jan 2026",
        "categoryId.isNull=false": "no",
        "stock.lt=5": "5",
        "releasedAt.lt=soon": "soon",
    }
    await visitor.enter(f"rows/products?{'&'.join(filters)}", email)
    chips = page.locator(".chip strong")
    await expect(chips).to_have_count(len(filters))
    for at, text in enumerate(filters.values()):
        await expect(chips.nth(at)).to_contain_text(text)
    name = page.get_by_role("button", name="Lamps, Chairs")
    await name.click()
    await expect(chips).to_have_count(len(filters) - 1)


UNSEEN = "You may not see what this refers to."
EDITOR = "editor@acme.example"


async def editor(visitor: Visitor) -> dict[str, Any]:
    """Somebody who writes products and sees no categories; returns a draft that has one."""
    app = visitor.service.app
    await app.make_role("acme", "Editor", ["read:products", "update:products", "create:products"])
    await app.make_user("acme", EDITOR, ["Editor"])
    listed = await app.call("GET", "/api/products?sku=LAMP-008", as_whom="acme")
    (row,) = listed.json()["data"]["items"]
    assert isinstance(row, dict)
    return row


def locked(page: Page, row_id: str) -> Locator:
    """What is shown in the place of a row that cannot be seen."""
    return page.locator(".locked", has=page.get_by_role("img", name=UNSEEN)).filter(has_text=f"…{row_id[-8:]}")


async def test_a_grid_marks_references_that_the_caller_may_not_see(visitor: Visitor) -> None:
    page = visitor.page
    row = await editor(visitor)
    await visitor.enter("rows/products?sku=LAMP-008&~columns=name,categoryId,createdBy", EDITOR)
    await expect(locked(page, row["categoryId"])).to_be_visible()
    await expect(locked(page, row["createdBy"])).to_be_visible()
    await expect(page.get_by_role("grid")).not_to_contain_text(row["categoryId"][:13])
    assert await violations(visitor) == []


async def test_a_form_preserves_a_reference_that_the_caller_may_not_see(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row = await editor(visitor)
    await visitor.enter(f"rows/products/{row['id']}", EDITOR)
    form = page.get_by_role("main").locator("form")
    await expect(form.locator(".locked")).to_contain_text(f"…{row['categoryId'][-8:]}")
    await expect(form.get_by_text(UNSEEN)).to_be_visible()
    assert await violations(visitor) == []
    await page.get_by_label("Name").fill("Renamed")
    async with page.expect_request(lambda request: request.method == "PATCH") as sent:
        await page.get_by_role("button", name="Save", exact=True).click()
    assert (await sent.value).post_data_json == {"name": "Renamed"}
    await visitor.said("Saved.")
    stored = (await app.call("GET", f"/api/products/{row['id']}", as_whom="acme")).json()["data"]
    assert (stored["name"], stored["categoryId"]) == ("Renamed", row["categoryId"])
    await page.get_by_role("button", name=re.compile("^Remove Category")).click()
    async with page.expect_response(f"**/api/products/{row['id']}"):
        await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_label("Category")).to_have_value("")
    stored = (await app.call("GET", f"/api/products/{row['id']}", as_whom="acme")).json()["data"]
    assert stored["categoryId"] is None


async def test_a_reference_to_an_invisible_row_is_typed_as_an_id(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row = await editor(visitor)
    await visitor.enter("rows/products/new", EDITOR)
    for label, value in (("Name", "New"), ("SKU", "NEW-1"), ("Price", "1.00"), ("Category", row["categoryId"])):
        await page.get_by_label(re.compile(f"^{label}", re.IGNORECASE)).fill(value)
    await expect(page.get_by_text("An id: you may not see the rows")).to_be_visible()
    await page.get_by_role("button", name="Create").click()
    await visitor.said("Created.")
    stored = (await app.call("GET", "/api/products?sku=NEW-1", as_whom="acme")).json()["data"]["items"]
    assert [made["categoryId"] for made in stored] == [row["categoryId"]]


@pytest.mark.parametrize("email", ["admin@acme.example", EDITOR])
async def test_a_choice_between_two_values_names_the_rows_that_one_may_see(visitor: Visitor, email: str) -> None:
    page, app = visitor.page, visitor.service.app
    row = await editor(visitor)
    other = (await app.call("GET", "/api/categories?name=Category%2003", as_whom="acme")).json()["data"]["items"][0]
    await visitor.enter(f"rows/products/{row['id']}", email)
    await page.get_by_label("Description").fill("typed meanwhile")
    body = {"categoryId": other["id"]}
    assert (await app.call("PATCH", f"/api/products/{row['id']}", as_whom="acme", json=body)).status_code == 200
    await page.get_by_role("button", name="Save", exact=True).click()
    theirs = page.get_by_role("dialog").get_by_role("row", name="Category").get_by_role("cell").first
    if email == EDITOR:
        await expect(theirs.locator(locked(page, other["id"]))).to_be_visible()
    else:
        await expect(theirs).to_have_text("Category 03")


async def test_a_reference_in_the_first_column_is_named_and_leads_to_its_row(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    (row,) = (await app.call("GET", "/api/products?sku=LAMP-008", as_whom="acme")).json()["data"]["items"]
    listed = await app.call("GET", "/api/categories?name=Category%2003", as_whom="acme")
    body = {"categoryId": listed.json()["data"]["items"][0]["id"]}
    assert (await app.call("PATCH", f"/api/products/{row['id']}", as_whom="acme", json=body)).status_code == 200
    await visitor.enter("rows/products?sku=LAMP-008&~columns=categoryId,sku,createdBy")
    link = page.get_by_role("gridcell").get_by_role("link", name="Category 03")
    await expect(link).to_have_attribute("href", f"/console/rows/products/{row['id']}")
    await visitor.go("rows/products?sku=LAMP-008&~columns=createdBy,categoryId")
    await expect(page.get_by_role("gridcell").locator("a a")).to_have_count(0)
    await expect(page.get_by_role("gridcell").get_by_role("link").first).to_have_text("Somebody Else")


async def test_the_audit_trail_marks_users_outside_the_tenant_as_unseen(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("audit?action=role.created")
    await expect(page.locator("tbody .locked").first).to_be_visible()
