"""WCAG 2.2 AA by axe-core on every screen, wide and narrow, light and dark; zoom and right-to-left.

axe runs in an isolated world of the page, so that the page keeps its policy.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import ViewportSize, expect

from tests.console.conftest import NARROW, WIDE, Visitor

AXE = (Path(__file__).parent / "axe/axe.min.js").read_text()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = f"axe.run(document, {{runOnly: {json.dumps(TAGS)}, resultTypes: ['violations']}}).then(found => found.violations)"

MEMBER_SCREENS = {
    "": "Hello",
    "rows/products": "Products",
    "rows/products?sku=none": "Products",
    "rows/products/new": "New",
    "rows/products/import": "Import",
    "people": "Members",
    "roles": "Roles",
    "people?tab=invitations": "Members",
    "keys": "Service accounts",
    "settings": "Settings",
    "audit": "Audit trail",
    "account": "My account",
    "nowhere": "",
}
ROOT_SCREENS = {"tenants": "Tenants", "system": "System", "rows/applications": "Applications"}

pytestmark = [pytest.mark.timeout(120), pytest.mark.filterwarnings("ignore::ResourceWarning")]


async def violations(visitor: Visitor) -> list[str]:
    """Rules that the screen breaks, each with the first element that breaks it."""
    session = await visitor.context.new_cdp_session(visitor.page)
    frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
    world = await session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})
    asked = {"contextId": world["executionContextId"], "awaitPromise": True, "returnByValue": True}
    await session.send("Runtime.evaluate", {**asked, "expression": f"{AXE};undefined"})
    answer: Any = await session.send("Runtime.evaluate", {**asked, "expression": RUN})
    await session.detach()
    found = answer["result"]["value"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:200]} {rule['nodes'][0]['failureSummary']}" for rule in found]


async def look(visitor: Visitor, screens: dict[str, str]) -> dict[str, list[str]]:
    broken = {}
    for path, heading in screens.items():
        await visitor.open(path)
        if heading:
            await expect(visitor.page.get_by_role("heading", level=1)).to_contain_text(heading)
        await expect(visitor.page.locator(".loading")).to_have_count(0)
        broken[path] = await violations(visitor)
    return {path: found for path, found in broken.items() if found}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_no_screen_breaks_a_rule(visitor: Visitor, theme: str, size: ViewportSize) -> None:
    page = visitor.page
    await page.set_viewport_size(size)
    await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    await visitor.open()
    await expect(page.get_by_label("E-mail")).to_be_visible()
    assert await violations(visitor) == []
    await visitor.enter()
    assert await look(visitor, MEMBER_SCREENS) == {}


async def test_screens_of_super_admins_break_no_rule(visitor: Visitor) -> None:
    await visitor.enter(email="admin@example.com")
    assert await look(visitor, ROOT_SCREENS) == {}


async def test_dialogs_menus_and_rows_break_no_rule(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products?sort=name:asc")
    for name in ("API", "Filter", "Columns", "Saved views", "More"):
        opener = page.get_by_role("button", name=name, exact=True)
        await opener.click()
        assert await violations(visitor) == [], name
        await page.keyboard.press("Escape")
        await expect(opener).to_be_focused()
    await page.get_by_role("link", name="Lamp 000").click()
    await expect(page.get_by_role("heading", name="Lamp 000")).to_be_visible()
    await page.get_by_label("Price").fill("wrong")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    assert await violations(visitor) == []
    await visitor.open("people")
    await page.get_by_role("button", name="Add member").click()
    assert await violations(visitor) == []


async def test_at_400_percent_nothing_is_cut_off(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(ViewportSize(width=320, height=256))
    await visitor.enter("account")
    for path in ("account", "rows/products", "rows/products/new", "people", ""):
        await visitor.open(path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert await overflow(visitor) <= 0, path


async def overflow(visitor: Visitor) -> int:
    """Pixels by which the page is wider than its window."""
    session = await visitor.context.new_cdp_session(visitor.page)
    metrics = await session.send("Page.getLayoutMetrics")
    await session.detach()
    return int(metrics["cssContentSize"]["width"] - metrics["cssLayoutViewport"]["clientWidth"])


async def test_right_to_left_turns_the_whole_page(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await expect(page.get_by_role("grid")).to_be_visible()
    session = await visitor.context.new_cdp_session(page)
    await session.send("Runtime.evaluate", {"expression": "document.documentElement.dir = 'rtl'"})
    side, grid = await page.locator("nav.side").bounding_box(), await page.get_by_role("grid").bounding_box()
    assert side is not None
    assert grid is not None
    assert side["x"] > grid["x"]
    assert await overflow(visitor) <= 0


async def test_german_speaks_german_and_counts_in_it(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open()
    await page.get_by_role("button", name="Deutsch").click()
    await expect(page.get_by_label("Passwort")).to_be_visible()
    await page.get_by_role("button", name="English").click()
    await visitor.sign_in()
    await page.get_by_role("link", name="Somebody Else").click()
    await page.get_by_label("Language").select_option("de")
    await page.get_by_role("link", name="Übersicht").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hallo")
    assert await page.locator("html").get_attribute("lang") == "de"


async def test_a_broken_rule_would_be_found(visitor: Visitor) -> None:
    await visitor.enter("account")
    await expect(visitor.page.get_by_role("heading", name="My account")).to_be_visible()
    session = await visitor.context.new_cdp_session(visitor.page)
    spoil = "document.querySelector('main').append(document.createElement('img'), document.createElement('button'))"
    await session.send("Runtime.evaluate", {"expression": spoil})
    assert {text.split(":")[0] for text in await violations(visitor)} == {"image-alt", "button-name"}
