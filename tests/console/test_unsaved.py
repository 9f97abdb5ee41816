"""Every form asks before somebody leaves it with unsaved changes, and lets them go once it is saved."""

import re
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Locator, Page, expect

from tests.console.conftest import Visitor
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
    await visitor.page.get_by_label("Packer: read:products").check()
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
    await visitor.page.get_by_label("Days of a session").fill("30")
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
async def test_a_form_that_is_as_it_was_takes_no_question_from_another(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("settings")
    name, currency = page.get_by_label("Name shown to users"), page.get_by_label("Currency")
    before = await name.input_value()
    days = page.get_by_label("Days of a session")
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


async def test_a_person_who_is_removed_is_left_without_a_question(visitor: Visitor) -> None:
    page = visitor.page
    await person(visitor)
    await page.get_by_role("button", name="Remove").click()
    await page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(page.get_by_role("heading", name="Members")).to_be_visible()


@pytest.mark.promise("console, accessibility and states: nothing that was typed is lost")
@pytest.mark.parametrize("how", ["Escape", "the cross"])
async def test_a_dialog_asks_before_it_takes_what_was_typed(visitor: Visitor, how: str) -> None:
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
