"""Changes of others in open screens: in a list, a form and a history, after a network failure; one stream a tab."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.console.looks.test_accessibility import violations_in_all_looks
from tests.console.rows.live.office import BOSS, CLERK, Office, reads, streams

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.promise("console, journeys: A colleague's change shows without a reload")
async def test_a_colleagues_change_shows_in_its_place_and_is_marked(office: Office) -> None:
    await office.open()
    before = reads(office.boss)
    colleague = office.clerk.page
    await office.clerk.enter(f"rows/orders/{office.orders['A-3']}", CLERK)
    await colleague.get_by_label("Price").fill("42.50")
    await colleague.get_by_role("button", name="Save").click()
    await expect(office.row("A-3")).to_contain_text("42.50")
    await expect(office.row("A-3")).to_have_class(re.compile("marked"))
    await expect(office.page.locator("tr.marked")).to_have_count(0)
    assert reads(office.boss) == before
    await expect(office.fresh).to_have_count(0)


@pytest.mark.promise("console, journeys: A colleague's change shows without a reload")
async def test_new_rows_wait_until_somebody_wants_them(office: Office) -> None:
    page = office.page
    await office.open()
    for number in ("A-00", "A-01", "A-02"):
        await office.add(number)
    await expect(office.fresh).to_have_text("3 new rows")
    await expect(page.locator("tbody tr[aria-rowindex]")).to_have_count(5)
    assert await violations_in_all_looks(office.boss) == []
    await office.fresh.focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("tbody tr[aria-rowindex]")).to_have_count(8)
    await expect(office.fresh).to_have_count(0)
    await expect(page.get_by_role("grid")).to_be_focused()
    await expect(page.locator(".foot")).to_contain_text("8 rows")


async def test_deleted_and_moved_rows_stay_until_somebody_wants_the_list(office: Office) -> None:
    page = office.page
    await office.open()
    await office.delete("A-1")
    await expect(office.row("A-1")).to_have_class(re.compile("deleted"))
    await office.change("A-2", number="B-2")
    await expect(page.locator("tbody tr").nth(2)).to_contain_text("B-2")
    await expect(office.fresh).to_have_text("Rows moved or were deleted: show")
    await office.fresh.click()
    await expect(page.locator("tbody tr")).to_have_count(4)
    await expect(page.locator("tbody tr").last).to_contain_text("B-2")


async def test_a_filtered_list_counts_only_rows_that_it_shows(office: Office) -> None:
    await office.open("rows/orders?status=open")
    await office.add("A-8", status="paid")
    await office.add("A-9")
    await expect(office.fresh).to_have_text("1 new row")
    await office.change("A-1", status="sent")
    await expect(office.row("A-1")).to_contain_text("Sent")
    await office.fresh.click()
    await expect(office.row("A-9")).to_be_visible()
    await expect(office.row("A-1")).to_have_count(0)
    await office.change("A-8", status="open")
    await expect(office.fresh).to_have_text("1 new row")


async def test_a_changed_reference_shows_the_name_of_the_other_row(office: Office) -> None:
    await office.open()
    customer = await office.call("POST", "/api/customers", {"name": "Globex"})
    await office.change("A-2", customerId=customer["id"])
    await expect(office.row("A-2")).to_contain_text("Globex")


@pytest.mark.promise("console, journeys: A form warns before a save that another user changed the row")
async def test_a_form_shows_changes_of_others_and_warns_who_types(office: Office) -> None:
    page = office.page
    await office.open(f"rows/orders/{office.orders['A-1']}")
    await office.change("A-1", price="2.00")
    await expect(page.get_by_label("Price")).to_have_value("2.00")
    await page.get_by_label("Price").fill("7.00")
    await office.change("A-1", price="3.00", status="paid")
    warning = page.locator(".bar.warn")
    await expect(warning).to_contain_text("Somebody Else changed this row: Status, Price.")
    assert await violations_in_all_looks(office.boss) == []
    await expect(page.get_by_label("Price")).to_have_value("7.00")
    await page.get_by_role("button", name="Save").click()
    conflict = page.get_by_role("dialog")
    await expect(conflict).to_contain_text("3.00")
    await conflict.get_by_role("button", name="Save").click()
    await office.boss.said("Saved")
    await expect(warning).to_have_count(0)
    stored = await office.call("GET", f"/api/orders/{office.orders['A-1']}")
    assert (stored["price"], stored["status"]) == ("7.00", "paid")


async def test_a_history_shows_new_versions(office: Office) -> None:
    page = office.page
    await office.open(f"rows/orders/{office.orders['A-1']}?tab=history")
    await expect(page.locator(".timeline > li")).to_have_count(1)
    await office.change("A-1", price="2.00")
    await office.change("A-1", price="3.00")
    await expect(page.locator(".timeline > li")).to_have_count(3)
    await expect(page.locator(".timeline > li").first).to_contain_text("3.00")
    await office.delete("A-1")
    await expect(page.locator(".head")).to_contain_text("Deleted")


@pytest.mark.promise("console, journeys: After a network failure a list equals a fresh page")
async def test_a_list_equals_a_fresh_page_after_writes_without_network(office: Office) -> None:
    page = office.page
    await office.open()
    await office.boss.context.set_offline(True)
    await expect(page.locator(".live.off")).to_be_visible()
    assert await violations_in_all_looks(office.boss) == []
    for number in range(40):
        await office.add(f"A-{number + 10}")
    for number in range(0, 40, 2):
        await office.change(f"A-{number + 10}", price=f"{number}.00")
    for number in range(5, 40, 10):
        await office.delete(f"A-{number + 10}")
    for number in range(5):
        for status in ("paid", "sent", "paid", "sent", "open", "paid", "sent"):
            await office.change(f"A-{number}", status=status, price=f"{number}.99")
    await office.delete("A-4")
    await office.boss.context.set_offline(False)
    await office.is_live()
    await expect(office.row("A-3")).to_contain_text("3.99")
    # rows that came and went are not counted
    await expect(office.fresh).to_have_text("36 new rows")
    await office.fresh.click()
    await expect(page.locator(".foot")).to_contain_text("40 rows")
    shown = await rows_of(page)
    await page.reload()
    await expect(page.locator(".foot")).to_contain_text("40 rows")
    assert await rows_of(page) == shown
    assert len(shown) > 20


async def rows_of(page: Page) -> list[str]:
    await expect(page.locator(".waiting")).to_have_count(0)
    return await page.locator("tbody tr[aria-rowindex]").all_inner_texts()


@pytest.mark.promise("console, journeys: One stream a tab, only for entities with a feed")
async def test_one_stream_serves_all_screens_of_a_tab(office: Office) -> None:
    page = office.page
    await office.boss.enter("rows/customers", BOSS)
    await expect(page.get_by_text("No rows yet")).to_be_visible()
    assert streams(office.boss) == 0
    await expect(page.locator(".live")).to_have_count(0)
    await page.get_by_role("link", name="Orders", exact=True).click()
    await office.is_live()
    await page.get_by_role("link", name="A-2").click()
    await expect(page.get_by_label("Price")).to_be_visible()
    await page.get_by_role("link", name="Home").click()
    await page.get_by_role("link", name="Orders", exact=True).click()
    await office.change("A-2", price="8.00")
    await expect(office.row("A-2")).to_contain_text("8.00")
    assert streams(office.boss) == 1


async def test_changes_arrive_after_the_rights_of_a_user_changed(office: Office) -> None:
    await office.open()
    await office.app.make_role("acme", "Guest", ["read:customers"])
    users = await office.call("GET", "/api/users?search=boss")
    await office.call("PUT", f"/api/users/{users['items'][0]['id']}", {"roles": ["Admin", "Guest"]})
    await office.change("A-2", price="8.00")
    await expect(office.row("A-2")).to_contain_text("8.00")
    await office.is_live()
