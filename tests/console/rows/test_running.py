"""Imports and exports that run while somebody leaves, closes or stops them, and what they say at their end."""

import asyncio
import re
from collections.abc import Sequence

import pytest
from playwright.async_api import Download, FilePayload, Page, Route, ViewportSize, expect

from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations
from tests.http.app import PASSWORD

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

CHECK = "Check without saving"


def rows_of(sku: str, count: int = 2) -> list[str]:
    return [f"Bulk {number},{sku}-{number},1.50" for number in range(count)]


async def choose(page: Page, rows: Sequence[str]) -> None:
    file = FilePayload(name="rows.csv", mimeType="text/csv", buffer="\n".join(["name,sku,price", *rows]).encode())
    await page.locator("input[type=file]").set_input_files([file])


async def checked(visitor: Visitor, sku: str) -> None:
    """Two rows that are checked, and can be imported."""
    await visitor.enter("rows/products/import")
    await choose(visitor.page, rows_of(sku))
    await expect(visitor.page.get_by_role("button", name="Import 2 rows")).to_be_enabled()


async def stored(visitor: Visitor, sku: str) -> int:
    listed = await visitor.service.app.call("GET", f"/api/products?sku.startsWith={sku}", as_whom="acme")
    count: int = listed.json()["data"]["totalCount"]
    return count


async def test_who_leaves_a_running_import_is_asked_and_stops_it(visitor: Visitor) -> None:
    page, began = visitor.page, asyncio.Event()
    await checked(visitor, "LEFT")

    async def never(route: Route) -> None:
        began.set()

    await page.route("**/api/products/import", never)
    await page.get_by_role("button", name="Import 2 rows").click()
    await began.wait()
    await expect(page.get_by_text("The file is sent and read")).to_be_visible()
    assert await violations(visitor) == []
    async with page.expect_event("dialog") as told:
        await page.close(run_before_unload=True)
    unloading = await told.value
    assert unloading.type == "beforeunload"
    await unloading.dismiss()
    question = page.get_by_role("dialog", name="Stop the import?")
    await page.get_by_role("link", name="Home").click()
    await question.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_text("The file is sent and read")).to_be_visible()
    await page.get_by_role("link", name="Home").click()
    async with page.expect_event("requestfailed", lambda request: "import" in request.url):
        await question.get_by_role("button", name="Leave").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")
    assert await stored(visitor, "LEFT") == 0


async def test_an_import_that_was_stopped_too_late_stores_nothing_twice(visitor: Visitor) -> None:
    page, arrived = visitor.page, asyncio.Event()
    await checked(visitor, "LATE")

    async def lose(route: Route) -> None:
        await route.fetch()
        arrived.set()

    await page.route("**/api/products/import", lose)
    await page.get_by_role("button", name="Import 2 rows").click()
    await arrived.wait()
    await page.get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("alert")).to_contain_text("the same import again stores none of them twice")
    await expect(page.get_by_role("button", name="Import 2 rows")).to_be_focused()
    await page.unroute("**/api/products/import", lose)
    await page.get_by_role("button", name="Import 2 rows").click()
    await expect(page.get_by_role("heading", name="2 rows imported")).to_be_visible()
    # its button rests now
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    assert await stored(visitor, "LATE") == 2


@pytest.mark.promise(
    "console, accessibility and states: what goes away gives the focus to its neighbour, what ran gives it back, and "
    "who clicked beside gets none"
)
async def test_a_check_by_keys_gives_the_focus_back(visitor: Visitor) -> None:
    page, began = visitor.page, asyncio.Event()

    async def never(route: Route) -> None:
        began.set()

    await checked(visitor, "KEYS")
    await page.route("**/api/products/import", never)
    check = page.get_by_role("button", name=CHECK)
    await check.focus()
    await page.keyboard.press("Enter")
    await began.wait()
    cancel = page.get_by_role("button", name="Cancel")
    await cancel.focus()
    await page.keyboard.press("Enter")
    await expect(cancel).to_have_count(0)
    await expect(check).to_be_focused()
    await page.unroute("**/api/products/import", never)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="2 rows would be imported")).to_be_visible()
    await expect(check).to_be_focused()


async def test_an_export_ends_by_its_button_and_with_its_dialog(visitor: Visitor) -> None:
    page, files = visitor.page, list[Download]()
    page.on("download", lambda file: files.append(file))  # noqa: PLW0108  # no attribute fits on a builtin
    dialog = page.get_by_role("dialog")
    start = dialog.get_by_role("button", name="Export", exact=True)
    await visitor.enter("rows/products")

    async def open_dialog() -> None:
        await page.get_by_role("button", name="More").click()
        await page.get_by_role("button", name="Export").click()

    async def never(route: Route) -> None:
        pass

    await page.route("**/api/products/export?*", never)
    await open_dialog()
    await start.click()
    async with page.expect_event("requestfailed"):
        await dialog.get_by_role("button", name="Cancel").click()
    await expect(start).to_be_focused()
    await expect(dialog.get_by_role("alert")).to_have_count(0)
    async with page.expect_request("**/api/products/export?*"):
        await start.click()
    async with page.expect_event("requestfailed"):
        await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    assert files == []
    await page.unroute("**/api/products/export?*", never)
    await open_dialog()
    async with page.expect_download():
        await start.click()


async def select(page: Page, count: int) -> None:
    boxes = page.get_by_label(re.compile("^Select Lamp"))
    for place in range(count):
        await boxes.nth(place).check()


async def test_rows_that_are_deleted_together_are_stopped_by_a_button(visitor: Visitor) -> None:
    page, began = visitor.page, asyncio.Event()

    async def never(route: Route) -> None:
        began.set()

    await page.route("**/api/products/batch/delete", never)
    await visitor.enter("rows/products")
    await select(page, 2)
    await page.get_by_role("button", name="Delete", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await began.wait()
    region = page.get_by_role("region", name="Selected rows")
    await expect(region).to_contain_text("0 of 2 rows done")
    assert await violations(visitor) == []
    await page.get_by_role("link", name="Home").click()
    await page.get_by_role("dialog", name="Stop").get_by_role("button", name="Cancel").click()
    async with page.expect_event("requestfailed"):
        await region.get_by_role("button", name="Cancel").click()
    await visitor.said("Stopped.")
    await expect(region).to_have_count(0)


@pytest.mark.parametrize(
    ("button", "path", "told"),
    [("Restore", "**/restore", "1 row restored."), ("Delete for good", "**permanent=true", "1 row deleted for good.")],
)
async def test_deleted_rows_are_done_one_by_one_until_a_button_stops_it(
    visitor: Visitor, button: str, path: str, told: str
) -> None:
    page, asked, hangs, app = visitor.page, list[str](), asyncio.Event(), visitor.service.app
    listed = await app.call("GET", "/api/products?pageSize=3", as_whom="acme")
    ids = [row["id"] for row in listed.json()["data"]["items"]]
    await app.call("POST", "/api/products/batch/delete", as_whom="acme", json={"ids": ids})
    role = {"name": "Purger", "permissions": ["read:products", "delete:products", "purge:products"]}
    await app.call("POST", "/api/roles", as_whom="root in acme", json=role)
    await app.make_user("acme", "purger@acme.example", ["Purger"])

    async def hang(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            await route.continue_()
        else:
            hangs.set()

    await page.route(path, hang)
    await visitor.enter("rows/products?includeDeleted=true", email="purger@acme.example")
    await select(page, 3)
    await page.get_by_role("button", name=button).click()
    if button != "Restore":
        await page.get_by_role("dialog").get_by_role("button", name=button).click()
    await hangs.wait()
    region = page.get_by_role("region", name="Selected rows")
    await expect(region).to_contain_text("1 of 3 rows done")
    await region.get_by_role("button", name="Cancel").click()
    await visitor.said("Stopped.")
    await visitor.said(told)
    await expect(page.get_by_text("2 rows", exact=True)).to_be_visible()
    await expect(page.get_by_role("grid")).to_be_focused()
    assert len(asked) == 2


async def test_a_change_of_many_rows_is_sent_once_and_stopped_by_a_button(visitor: Visitor) -> None:
    page, asked = visitor.page, list[str]()

    async def never(route: Route) -> None:
        asked.append(route.request.url)

    await page.route("**/api/products/batch", never)
    await visitor.enter("rows/products")
    await select(page, 2)
    await page.get_by_role("button", name="Edit", exact=True).click()
    dialog = page.get_by_role("dialog", name="Edit 2 rows")
    send = dialog.get_by_role("button", name="Change 2 rows")
    # with nothing typed it asks whether the rows are to be emptied
    await dialog.get_by_role("textbox", name="Name").fill("Together")
    async with page.expect_request("**/api/products/batch"):
        await send.click()
    await expect(send).to_be_disabled()
    async with page.expect_event("requestfailed"):
        await dialog.get_by_role("button", name="Cancel").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("Stopped.")
    await expect(send).to_be_focused()
    assert len(asked) == 1


async def test_an_import_report_counts_rows_with_errors_and_existing_rows(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products/import")
    # of 5,000 rows 100 have no price, and 50 more the key of the first
    rows = rows_of("MANY", 5_000)
    rows[7::50] = [row.replace("1.50", "x") for row in rows[7::50]]
    rows[13::100] = ["Twice,MANY-0,1.50"] * len(rows[13::100])
    await choose(page, rows)
    for button, heading in ((CHECK, "4,850 rows would be imported"), ("Import 4,850 rows", "4,850 rows imported")):
        await page.get_by_role("button", name=button).click()
        report = page.get_by_role("status").filter(has=page.get_by_role("heading", name=heading))
        await expect(report).to_contain_text("100 rows have errors and are left out.")
        await expect(report).to_contain_text("50 rows are left out: a row with the same key is there already.")
        await expect(report.locator("tbody tr")).to_have_count(150)
        await expect(report.locator("tbody tr", has_text="Left out:")).to_have_count(50)
    assert await violations(visitor) == []
    assert await stored(visitor, "MANY") == 4_850


async def test_the_fields_of_a_mapping_are_in_sight_on_a_telephone(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(ViewportSize(width=360, height=740))
    await visitor.enter("rows/products/import")
    await choose(page, [f"{'n' * 200},{'S' * 40},1.50"])
    box = await page.get_by_label("Field for the column sku").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 360


async def test_text_typed_in_a_dialog_is_preserved_when_the_session_ends(visitor: Visitor) -> None:
    page = visitor.page
    emails = "first@new.example\nsecond@new.example"
    await visitor.enter("people?tab=invitations")
    await page.get_by_role("button", name="Invite", exact=True).click()
    dialog = page.get_by_role("dialog", name="Invite")
    await dialog.get_by_label("E-mail addresses").fill(emails)
    headers = {"X-Console": "1", "Origin": visitor.home}
    assert (await visitor.context.request.delete(f"{visitor.home}/console/session", headers=headers)).ok
    await dialog.get_by_role("button", name="Invite").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("Your session has ended. Sign in again in another tab")
    await expect(dialog.get_by_label("E-mail addresses")).to_have_value(emails)
    other = await visitor.context.new_page()
    await other.goto(f"{visitor.home}/console/")
    visitor.service.let_time_pass()
    await other.get_by_label("E-mail").fill("admin@acme.example")
    await other.get_by_label("Password").fill(PASSWORD)
    await other.keyboard.press("Enter")
    await expect(other.locator("nav.side")).to_be_visible()
    await dialog.get_by_role("button", name="Invite").click()
    await visitor.said("The mail is on its way.")
    # nothing is left to be asked about
    await page.get_by_role("link", name="Home").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")


async def test_a_dialog_that_leads_on_asks_nothing(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("keys")
    await page.get_by_role("button", name="Add service account").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name").fill("Robot")
    await dialog.get_by_role("button", name="Add service account").click()
    await expect(page.get_by_role("heading", name="Robot", level=1)).to_be_visible()
    await expect(dialog).to_have_count(0)
