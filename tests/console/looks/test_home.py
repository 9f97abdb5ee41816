"""The home screen: who changed what, who signed in, what a new tenant does next, and no empty third."""

import re

import pytest
from playwright.async_api import expect

from tests.console.conftest import WIDE, Visitor
from tests.console.looks.test_accessibility import violations_in_all_looks

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def test_the_latest_change_names_the_row_the_person_and_the_entity(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.service.renew_tokens()
    row = (await app.call("GET", "/api/products?search=Lamp%20042", as_whom="acme")).json()["data"]["items"][0]
    visitor.service.let_time_pass()
    changed = await app.call("PATCH", f"/api/products/{row['id']}", as_whom="acme", json={"price": "77.00"})
    assert changed.status_code == 200, changed.text
    await visitor.enter()
    panel = page.locator("section", has=page.get_by_role("heading", name="Latest changes"))
    first = panel.get_by_role("listitem").first
    await expect(first).to_contain_text("Lamp 042")
    await expect(first).to_contain_text(re.compile("changed in Products · Somebody Else|changed in Products · .+"))
    await first.get_by_role("link", name="Lamp 042").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Lamp 042")


async def test_members_are_listed_with_their_last_sign_in(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.service.app.make_user("acme", "never@acme.example", [])
    await visitor.enter()
    panel = page.locator("section", has=page.get_by_role("heading", name="Last sign-ins"))
    people = panel.get_by_role("listitem")
    await expect(people.first.locator("time")).to_be_visible()
    await expect(people.filter(has_text="never").first).to_be_visible()


async def test_an_empty_tenant_is_told_its_next_steps(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(email="admin@other.example")
    steps = page.locator("section", has=page.get_by_role("heading", name="Next steps"))
    await expect(steps.get_by_role("link", name="Add your first rows")).to_have_attribute(
        "href", re.compile("/rows/[a-z]+/import$")
    )
    assert await violations_in_all_looks(visitor) == []


async def test_a_tenant_with_rows_and_members_sees_no_next_steps_and_no_empty_third(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(WIDE)
    await visitor.enter()
    await expect(page.get_by_role("heading", name="Latest changes")).to_be_visible()
    await expect(page.locator(".feed time").nth(6)).to_be_visible()
    await expect(page.get_by_role("heading", name="Next steps")).to_have_count(0)
    boxes = [await panel.bounding_box() for panel in await page.locator(".home .panel").all()]
    lowest = max(box["y"] + box["height"] for box in boxes if box)
    widest = max(box["x"] + box["width"] for box in boxes if box)
    assert lowest >= WIDE["height"] * 2 / 3
    assert widest >= WIDE["width"] * 0.95
