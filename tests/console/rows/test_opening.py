"""A row that opens beside the grid, cells that are changed in place, copies, related rows and the history."""

import re

import pytest
from playwright.async_api import Locator, expect

from tests.console.conftest import NARROW, Visitor
from tests.console.looks.test_accessibility import violations_in_all_looks
from tests.console.rows.test_nothing_lost import made
from tests.http.app import Json

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

LAMPS = "rows/products?sort=name:asc&~columns=name,sku,price,status,categoryId"


def row_of(visitor: Visitor, name: str) -> Locator:
    return visitor.page.locator("tbody tr", has=visitor.page.get_by_role("link", name=name, exact=True))


async def stored(visitor: Visitor, sku: str) -> Json:
    answer = await visitor.service.app.call("GET", f"/api/products?sku={sku}", as_whom="acme")
    item: Json = answer.json()["data"]["items"][0]
    return item


@pytest.mark.promise("console, journeys: a click anywhere on a row opens it beside the list, whose keys go on")
async def test_a_click_on_a_row_opens_it_beside_the_list(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(LAMPS)
    await row_of(visitor, "Lamp 003").get_by_text("LAMP-003").click()
    beside = page.get_by_role("complementary", name="Product")
    await expect(beside.get_by_role("heading", name="Lamp 003")).to_be_visible()
    await expect(page).to_have_url(re.compile("~row="))
    await expect(row_of(visitor, "Lamp 003")).to_have_attribute("aria-current", "true")
    # the list has the focus, and its keys lead to the next row
    await page.keyboard.press("ArrowDown")
    await expect(beside.get_by_role("heading", name="Lamp 004")).to_be_visible()
    await beside.get_by_role("button", name="Next row").click()
    await expect(beside.get_by_role("heading", name="Lamp 005")).to_be_visible()
    # back closes the row, however many were looked at
    await page.go_back()
    await expect(beside).to_have_count(0)
    await expect(page.get_by_role("grid")).to_be_visible()


@pytest.mark.promise("console, journeys: a click anywhere on a row opens it beside the list, whose keys go on")
async def test_a_row_beside_the_list_is_entered_and_left_by_keys(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(LAMPS)
    await expect(row_of(visitor, "Lamp 000")).to_be_visible()
    await page.get_by_role("grid").focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    beside = page.get_by_role("complementary", name="Product")
    await expect(beside.get_by_role("heading", name="Lamp 000")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(beside).to_have_count(0)
    await expect(page.get_by_role("grid")).to_be_focused()


@pytest.mark.promise("console, journeys: a click anywhere on a row opens it beside the list, whose keys go on")
async def test_ctrl_opens_a_tab_and_a_control_or_a_link_opens_no_row(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(LAMPS)
    async with page.context.expect_page() as opened:
        await row_of(visitor, "Lamp 002").get_by_text("LAMP-002").click(modifiers=["Control"])
    tab = await opened.value
    await expect(tab.get_by_role("heading", level=1, name="Lamp 002")).to_be_visible()
    await tab.close()
    await page.get_by_role("checkbox", name="Select Lamp 002").click()
    await expect(page.locator(".selected")).to_contain_text("1 selected")
    await expect(page.get_by_role("complementary", name="Product")).to_have_count(0)
    await row_of(visitor, "Lamp 002").locator("a.ref").click()
    await expect(page).to_have_url(re.compile("/rows/categories/"))


@pytest.mark.promise("console, journeys: a click anywhere on a row opens it beside the list, whose keys go on")
async def test_on_a_telephone_a_row_opens_as_a_page(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(NARROW)
    await visitor.enter(LAMPS)
    await row_of(visitor, "Lamp 003").get_by_role("link", name="Lamp 003").click()
    await expect(page).to_have_url(re.compile("/rows/products/[0-9a-f-]{36}$"))


@pytest.mark.promise("console, journeys: what is not saved beside the list is asked about before another row opens")
async def test_another_row_does_not_replace_unsaved_changes(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(LAMPS)
    await row_of(visitor, "Lamp 003").get_by_role("link", name="Lamp 003").click()
    beside = page.get_by_role("complementary", name="Product")
    await beside.get_by_label("Stock").fill("77")
    await row_of(visitor, "Lamp 005").get_by_role("link", name="Lamp 005").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await expect(beside.get_by_label("Stock")).to_have_value("77")
    await beside.get_by_label("Price").fill("99.25")
    await beside.get_by_role("button", name="Save").click()
    await expect(row_of(visitor, "Lamp 003")).to_contain_text("99.25")


@pytest.mark.promise(
    "console, journeys: a cell is changed in place with the checks of the form, and the change is undone"
)
async def test_a_cell_is_changed_in_place_and_undone(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(LAMPS)
    await row_of(visitor, "Lamp 003").get_by_text("3.50", exact=True).dblclick()
    editor = page.get_by_role("form", name="Edit Price of Lamp 003")
    price = editor.get_by_label("Price")
    await expect(price).to_be_focused()
    await price.fill("1.234")
    await price.press("Enter")
    await expect(price).to_have_attribute("aria-invalid", "true")
    await price.fill("7.25")
    await price.press("Enter")
    await expect(editor).to_have_count(0)
    await expect(row_of(visitor, "Lamp 003")).to_contain_text("7.25")
    await expect(page.get_by_role("complementary", name="Product")).to_have_count(0)
    assert (await stored(visitor, "LAMP-003"))["price"] == 7.25
    await page.locator(".toast").get_by_role("button", name="Undo").click()
    await visitor.said("Undone.")
    await expect(row_of(visitor, "Lamp 003")).to_contain_text("3.50")


@pytest.mark.promise(
    "console, journeys: a cell is changed in place with the checks of the form, and the change is undone"
)
async def test_a_choice_is_changed_by_keys_and_escape_changes_nothing(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(LAMPS)
    await expect(row_of(visitor, "Lamp 001")).to_contain_text("For sale")
    await page.get_by_role("grid").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        await page.keyboard.press(key)
    await expect(page.get_by_role("form", name="Edit SKU of Lamp 001")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("grid")).to_be_focused()
    for key in ("ArrowRight", "ArrowRight", "F2"):
        await page.keyboard.press(key)
    await page.get_by_role("form").get_by_label("Status").select_option(label="Retired")
    await page.keyboard.press("Enter")
    await expect(row_of(visitor, "Lamp 001")).to_contain_text("Retired")
    found = await stored(visitor, "LAMP-001")
    assert (found["status"], found["sku"]) == ("retired", "LAMP-001")


@pytest.mark.promise(
    "console, journeys: a cell is changed in place with the checks of the form, and the change is undone"
)
async def test_a_cell_does_not_overwrite_the_change_of_another_user(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(LAMPS)
    await expect(row_of(visitor, "Lamp 003")).to_be_visible()
    row = await stored(visitor, "LAMP-003")
    changed = await visitor.service.app.call("PATCH", f"/api/products/{row['id']}", as_whom="acme", json={"stock": 5})
    assert changed.status_code == 200
    await row_of(visitor, "Lamp 003").get_by_text("3.50", exact=True).dblclick()
    editor = page.get_by_role("form")
    await editor.get_by_label("Price").fill("8.00")
    await page.keyboard.press("Enter")
    await expect(editor).to_contain_text("Another user has changed this row.")


@pytest.mark.promise("console, journeys: a row is duplicated without its unique values")
async def test_a_copy_has_all_values_but_the_unique_ones(visitor: Visitor) -> None:
    page = visitor.page
    row = await stored(visitor, "LAMP-007")
    await visitor.enter(f"rows/products/{row['id']}")
    await page.get_by_role("link", name="Duplicate").click()
    await expect(page.get_by_label("Name")).to_have_value("Lamp 007 (copy)")
    await expect(page.get_by_label("SKU")).to_have_value("")
    await page.get_by_label("SKU").fill("COPY-1")
    await page.get_by_role("button", name="Create").click()
    await visitor.said("Created.")
    copy = await stored(visitor, "COPY-1")
    assert (copy["price"], copy["categoryId"]) == (row["price"], row["categoryId"])


@pytest.mark.promise("console, journeys: rows that refer to a row are in its tabs, and its history is a timeline")
async def test_rows_that_refer_to_a_row_need_no_declared_relation(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app

    async def without_relations(route: object) -> None:
        answer = await route.fetch()  # type: ignore[attr-defined]  # a Route
        body = await answer.json()
        for entity in body["data"]["entities"]:
            entity["relations"] = [relation for relation in entity["relations"] if not relation["many"]]
        await route.fulfill(response=answer, json=body)  # type: ignore[attr-defined]  # a Route

    await page.route("**/api/entities", without_relations)
    category = (await app.call("GET", "/api/categories?search=onerror", as_whom="acme")).json()["data"]["items"][0]
    await visitor.enter(f"rows/categories/{category['id']}")
    await page.get_by_role("group", name="Parts of this row").get_by_role("link", name="Products").click()
    await expect(page.get_by_role("grid").get_by_role("link", name="Lamp 249")).to_be_visible()


@pytest.mark.promise("console, journeys: rows that refer to a row are in its tabs, and its history is a timeline")
async def test_the_history_strikes_through_what_was(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row_id = await made(app, "/api/categories", name="Before")
    await app.call("PATCH", f"/api/categories/{row_id}", as_whom="acme", json={"name": "After"})
    await visitor.enter(f"rows/categories/{row_id}?tab=history")
    entry = page.locator(".timeline > li").first
    await expect(entry.locator("del")).to_have_text("Before")
    await expect(entry.locator("ins")).to_have_text("After")
    assert await entry.locator("del").evaluate("was => getComputedStyle(was).textDecorationLine") == "line-through"


@pytest.mark.promise(
    "console, accessibility and states: the same of dialogs, menus and errors; dialogs give the focus back"
)
async def test_a_row_beside_the_list_and_the_editor_of_a_cell_break_no_rule(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(LAMPS)
    await row_of(visitor, "Lamp 003").get_by_role("link", name="Lamp 003").click()
    await expect(page.get_by_role("complementary", name="Product").get_by_label("SKU")).to_be_visible()
    assert await violations_in_all_looks(visitor) == []
    await page.get_by_role("complementary", name="Product").get_by_role("button", name="Close").click()
    await row_of(visitor, "Lamp 003").get_by_text("3.50", exact=True).dblclick()
    await expect(page.get_by_role("form", name="Edit Price of Lamp 003")).to_be_visible()
    assert await violations_in_all_looks(visitor) == []
