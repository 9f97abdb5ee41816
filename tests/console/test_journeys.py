"""What people do in the console, from signing in to undoing a change, in a real browser."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.console.conftest import BOTH, HOSTILE, Visitor

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.promise("console, journeys: Signing in and out, choosing a tenant, switching it")
async def test_a_wrong_password_is_reported_and_the_right_one_opens_the_tenant(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open()
    await visitor.sign_in(password="wrong password")
    await expect(page.get_by_role("alert")).to_contain_text("wrong")
    await visitor.sign_in()
    await expect(page.get_by_role("navigation")).to_have_count(1)
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")
    await expect(page.get_by_role("link", name="Products").last).to_contain_text("250")


@pytest.mark.promise("console, journeys: Signing in and out, choosing a tenant, switching it")
async def test_the_session_outlives_a_reload_and_ends_with_the_sign_out(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.reload()
    await expect(page.get_by_role("grid")).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("E-mail")).to_be_visible()
    await page.reload()
    await expect(page.get_by_label("E-mail")).to_be_visible()
    assert [cookie["name"] for cookie in await visitor.context.cookies()] == []


@pytest.mark.promise("console, journeys: Signing in and out, choosing a tenant, switching it")
async def test_somebody_of_several_tenants_chooses_one_and_switches(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open()
    await visitor.sign_in(BOTH)
    await expect(page.get_by_role("heading", name="Choose a tenant")).to_be_visible()
    await page.get_by_role("button", name="Acme").click()
    await expect(page.locator(".tile").filter(has_text="Products")).to_contain_text("250")
    await page.get_by_role("button", name="Acme").click()
    await page.get_by_role("button", name="Other").click()
    await expect(page.locator(".tile").filter(has_text="Products")).to_contain_text("0")


@pytest.mark.promise("console, journeys: Search, filters, sorting and the query of the API")
async def test_rows_are_searched_filtered_and_sorted_in_the_words_of_the_api(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.get_by_role("button", name="Price", exact=True).click()
    await expect(page).to_have_url(f"{visitor.home}/console/rows/products?sort=price:asc")
    await expect(page.locator("tbody tr:not(.spacer)").first).to_contain_text("Lamp 000")
    await page.get_by_role("button", name="Filter").click()
    await page.get_by_label("Field").select_option(label="Status")
    await page.get_by_label("Value").select_option("live")
    await page.get_by_role("button", name="Add filter").click()
    await expect(page.locator(".chip")).to_contain_text("Status is For sale")
    await expect(page.locator("tbody tr:not(.spacer)").first).to_contain_text("Lamp 001")
    await page.get_by_role("button", name="API").click()
    raw = page.get_by_label("Query as the API takes it")
    await raw.fill("price.gte=200&sort=name:desc")
    await raw.press("Enter")
    await page.keyboard.press("Escape")
    await expect(page.locator("tbody tr:not(.spacer)").first).to_contain_text("Lamp 249")
    await page.get_by_label("Search").fill("nothing like it")
    await expect(page.get_by_role("heading", name="No rows match")).to_be_visible()
    await page.get_by_role("button", name="Clear all filters").last.click()
    await page.get_by_role("button", name="API").click()
    await expect(page.locator("dialog pre").first).to_contain_text("/api/products?sort=name:desc'")


@pytest.mark.promise("console, journeys: a row with its errors at their fields, and one that somebody else changed")
async def test_a_row_is_created_with_its_errors_at_their_fields_and_then_changed(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.get_by_role("link", name="New").click()
    await page.get_by_label("SKU").fill("not a sku")
    await page.get_by_label("Price").fill("12.345")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("alert")).to_contain_text("3 fields")
    for label in ("Name", "SKU", "Price"):
        await expect(page.get_by_label(label)).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_label("Name")).to_be_focused()
    await page.get_by_label("Name").fill("Kettle")
    await page.get_by_label("SKU").fill("KET-1")
    await page.get_by_label("Price").fill("12.34")
    await page.get_by_role("combobox", name="Category").fill("Category 07")
    await page.get_by_role("option", name="Category 07").click()
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("heading", name="Kettle")).to_be_visible()
    await page.get_by_label("Stock").fill("7")
    await page.get_by_role("button", name="Save", exact=True).click()
    await visitor.said("Saved.")
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.locator("dialog").get_by_role("button", name="Delete", exact=True).click()
    await expect(page.get_by_role("button", name="Restore")).to_be_visible()
    await page.get_by_role("button", name="Restore").click()
    await visitor.said("1 row restored.")
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.locator("dialog").get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("button", name="Delete for good").click()
    await page.locator("dialog").get_by_role("button", name="Delete for good").click()
    await expect(page.get_by_role("grid")).to_be_visible()


@pytest.mark.promise("console, journeys: a row with its errors at their fields, and one that somebody else changed")
async def test_a_concurrent_change_of_a_row_shows_both_values(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    made = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Contested"})
    path = f"/api/categories/{made.json()['data']['id']}"
    await visitor.enter(f"rows/categories/{made.json()['data']['id']}")
    await page.get_by_label("Description").fill("mine")
    changed = await app.call("PUT", path, as_whom="acme", json={"description": "theirs", "name": "Contested by two"})
    assert changed.status_code == 200
    await page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("theirs")
    await expect(dialog).to_contain_text("Contested by two")
    await dialog.get_by_role("button", name="Save the chosen values").click()
    await visitor.said("Saved.")
    stored = (await app.call("GET", path, as_whom="acme")).json()["data"]
    assert (stored["name"], stored["description"]) == ("Contested by two", "mine")


@pytest.mark.promise("console, journeys: History and undoing a change")
async def test_a_change_is_undone_from_the_history(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    made = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Before"})
    path = f"/api/categories/{made.json()['data']['id']}"
    await app.call("PUT", path, as_whom="acme", json={"name": "After"})
    await visitor.enter(f"rows/categories/{made.json()['data']['id']}?tab=history")
    await expect(page.locator(".timeline")).to_contain_text("Before")
    await page.get_by_role("button", name="Undo this change").click()
    await page.locator("dialog").get_by_role("button", name="Undo this change").click()
    await expect(page.get_by_role("heading", name="Before")).to_be_visible()
    await expect(page.locator(".timeline > li")).to_have_count(3)


@pytest.mark.promise("console, journeys: Selected rows are changed, deleted and restored")
async def test_selected_rows_are_changed_deleted_and_restored_together(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    items = [{"name": f"Shelf {number}", "sku": f"SHELF-{number}", "price": 5} for number in range(3)]
    await app.call("POST", "/api/products/batch", as_whom="acme", json={"items": items})
    await visitor.enter("rows/products?sku.startsWith=SHELF")
    await expect(page.get_by_role("row")).to_have_count(4)
    await page.get_by_label("Select the loaded rows").check()
    await page.get_by_role("button", name="Edit").click()
    await page.get_by_role("dialog").get_by_label("Field").select_option("stock")
    await page.get_by_role("dialog").get_by_role("textbox", name="Stock").fill("9")
    # the rows are read again after a change: until then there are none to select
    async with page.expect_response(lambda answer: "sku.startsWith" in answer.url and answer.ok):
        await page.get_by_role("button", name="Change 3 rows").click()
    await visitor.said("3 rows changed.")
    await expect(page.get_by_role("row")).to_have_count(4)
    await page.get_by_label("Select the loaded rows").check()
    await page.get_by_role("button", name="Delete").click()
    await page.locator("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_role("heading", name="No rows match")).to_be_visible()
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Deleted rows").click()
    await expect(page.get_by_role("row")).to_have_count(4)
    await page.get_by_label("Select the loaded rows").check()
    await page.get_by_role("button", name="Restore").click()
    await visitor.said("3 rows restored.")


@pytest.mark.promise("console, journeys: Import with mapping and check, export")
async def test_a_file_is_mapped_checked_imported_and_exported(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.page
    file = tmp_path / "mugs.csv"
    file.write_text("Ware;SKU;Price\nMug;MUG-1;7.90\nBad;MUG-2;dear\n")
    await visitor.enter("rows/products/import")
    await page.locator("input[type=file]").set_input_files(file)
    await expect(page.locator(".badge.warn")).to_contain_text("Name")
    await page.get_by_label("Field for the column Ware").select_option("name")
    await page.get_by_role("button", name="Check without saving").click()
    await expect(page.get_by_role("heading", name="1 row would be imported")).to_be_visible()
    await expect(page.locator(".import-errors")).to_contain_text("Price")
    await page.get_by_role("button", name="Import 1 row").click()
    await expect(page.get_by_role("heading", name="1 row imported")).to_be_visible()
    await visitor.open("rows/products?sku=MUG-1")
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Export").click()
    async with page.expect_download() as started:
        await page.locator("dialog").get_by_role("button", name="Export").click()
    exported = await started.value
    await exported.save_as(file)
    text = file.read_text()
    assert "MUG-1" in text
    assert len(text.splitlines()) == 2


@pytest.mark.promise("console, attacks: Names, rows, names of files and errors with markup")
@pytest.mark.promise("console, attacks: Breaches of the policy: each test of")
async def test_hostile_names_are_texts_and_nothing_else(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products?~columns=name,categoryId")
    await expect(page.locator("tbody").get_by_text(HOSTILE).first).to_be_visible()
    assert await page.locator("main img").count() == 0
    await visitor.open("rows/categories?search=onerror")
    await page.get_by_role("link", name=HOSTILE).click()
    await expect(page.get_by_role("heading", name=HOSTILE)).to_be_visible()


@pytest.mark.promise("console, journeys: Saved views")
async def test_saved_views_come_back(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products?status=live&sort=price:desc")
    await page.get_by_role("button", name="Saved views").click()
    await page.get_by_label("Name of this view").fill("Dear lamps")
    await page.get_by_label("Name of this view").press("Enter")
    await visitor.open("rows/products")
    await page.get_by_role("button", name="Saved views").click()
    await page.get_by_role("button", name="Dear lamps", exact=True).click()
    await expect(page).to_have_url(f"{visitor.home}/console/rows/products?status=live&sort=price:desc")


@pytest.mark.promise("console, accessibility and states: By the keyboard alone: sign-in, grid, form, import")
async def test_a_row_is_reached_by_keyboard_only(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products?sort=name:asc")
    await expect(page.locator("tbody tr:not(.spacer)").first).to_contain_text("Lamp 000")
    await page.get_by_role("grid").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "End", "Home", "Control+End", "Control+Home", "ArrowDown"):
        await page.keyboard.press(key)
    await expect(page.locator("#active-cell")).to_have_text("Lamp 001")
    await page.keyboard.press("Space")
    await expect(page.locator(".selected")).to_contain_text("1 selected")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Lamp 001")).to_be_focused()
