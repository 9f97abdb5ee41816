"""The command palette: screens, rows and members by keyboard, with few requests, and closed again with the focus."""

import re

import pytest
from playwright.async_api import Request, expect

from tests.console.conftest import NARROW, Visitor
from tests.console.looks.test_accessibility import violations_in_all_looks

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def searches(requests: list[Request]) -> list[str]:
    """Requests of the API with a search term."""
    return [request.url for request in requests if "/api/" in request.url and "search=" in request.url]


async def test_a_screen_is_opened_by_keyboard_without_a_request_for_rows(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await expect(page.locator("tbody a").first).to_be_visible()
    await page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Find or go to…")
    await expect(field).to_be_focused()
    await page.keyboard.type("audit")
    await expect(page.get_by_role("option", selected=True)).to_contain_text("Audit trail")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Audit trail")
    await expect(field).to_have_count(0)


async def test_rows_and_members_are_found_with_one_request_for_each_kind(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await expect(page.locator("tbody a").first).to_be_visible()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Find or go to…")).to_be_focused()
    visitor.requests.clear()
    await page.keyboard.type("Lamp 007")
    row = page.get_by_role("option", name=re.compile("Lamp 007"))
    await expect(row).to_be_visible()
    asked = searches(visitor.requests)
    assert len(asked) == len({url.split("?")[0] for url in asked}), "an entity was searched while keys were pressed"
    assert len(asked) <= 5
    await expect(row).to_have_attribute("aria-selected", "true")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Lamp 007")
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Find or go to…")).to_be_focused()
    await page.keyboard.type("both@acme")
    await expect(page.get_by_role("option", name=re.compile("both@acme.example"))).to_be_visible()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile("/people/"))


async def test_escape_closes_the_palette_and_the_focus_returns(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("people")
    button = page.get_by_role("button", name="Find or go to…")
    await button.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("combobox", name="Find or go to…")).to_be_focused()
    await page.keyboard.type("no such thing anywhere")
    await expect(page.locator("dialog").get_by_role("status")).to_have_text("Nothing found")
    await page.keyboard.press("Escape")
    await expect(page.locator("dialog")).to_have_count(0)
    await expect(button).to_be_focused()


async def test_a_member_finds_no_screen_that_is_closed_to_them(visitor: Visitor) -> None:
    await visitor.service.app.make_role("acme", "Finder", ["read:products"])
    await visitor.service.app.make_user("acme", "finder@acme.example", ["Finder"])
    page = visitor.page
    await visitor.enter(email="finder@acme.example")
    await page.keyboard.press("Control+k")
    options = page.get_by_role("option")
    await expect(options.filter(has_text="Products")).to_have_count(1)
    await expect(options.filter(has_text=re.compile("Members|Roles|Audit trail|New: "))).to_have_count(0)


async def test_the_palette_breaks_no_rule_and_opens_on_a_telephone(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(NARROW)
    await visitor.enter()
    await page.get_by_role("button", name="Find or go to…").click()
    await page.get_by_role("combobox", name="Find or go to…").fill("lamp")
    await expect(page.get_by_role("option", name=re.compile("Lamp")).first).to_be_visible()
    assert await violations_in_all_looks(visitor) == []
