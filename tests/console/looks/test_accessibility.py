"""WCAG 2.2 AA by axe-core on every screen, wide and narrow, light and dark; zoom and right-to-left.

axe runs in an isolated world of the page, so that the page keeps its policy.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import ViewportSize, expect

from tests.console.conftest import NARROW, WIDE, Visitor
from tests.http.app import TestApp

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
    "people?tab=joining": "Members",
    "keys": "Service accounts",
    "webhooks": "Webhooks",
    "settings": "Settings",
    "audit": "Audit trail",
    "account": "My account",
    "nowhere": "",
}
ROOT_SCREENS = {
    "tenants": "Tenants",
    "system": "System",
    "rows/applications": "Applications",
    "settings": "Settings",
}
LOOKS = pytest.mark.parametrize(
    ("theme", "size"),
    [
        pytest.param("light", WIDE, id="light-wide"),
        pytest.param("dark", NARROW, id="dark-narrow"),
        # each theme and each size has been seen by then
        pytest.param("light", NARROW, id="light-narrow", marks=pytest.mark.long),
        pytest.param("dark", WIDE, id="dark-wide", marks=pytest.mark.long),
    ],
)

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def violations(visitor: Visitor) -> list[str]:
    """Rules that the screen breaks, each with the first element that breaks it."""
    session = await visitor.chromium()
    frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
    world = await session.send("Page.createIsolatedWorld", {"frameId": frame, "worldName": "axe"})
    asked = {"contextId": world["executionContextId"], "awaitPromise": True, "returnByValue": True}
    # the world of a page stays as long as the page
    known = await session.send("Runtime.evaluate", {**asked, "expression": "typeof axe"})
    if known["result"]["value"] == "undefined":
        await session.send("Runtime.evaluate", {**asked, "expression": f"{AXE};undefined"})
    answer: Any = await session.send("Runtime.evaluate", {**asked, "expression": RUN})
    found = answer["result"]["value"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:200]} {rule['nodes'][0]['failureSummary']}" for rule in found]


async def violations_in_all_looks(visitor: Visitor) -> list[str]:
    """Rules that the screen breaks in light or dark, wide or narrow, and whether it is wider than its window."""
    found = []
    for size in (NARROW, WIDE):
        for theme in ("dark", "light"):
            await show(visitor, theme, size)
            found += [f"{theme}, {size['width']} pixels: {rule}" for rule in await violations(visitor)]
        if (beyond := await overflow(visitor)) > 0:
            found.append(f"the page is {beyond} pixels wider than its window of {size['width']}")
    return found


async def look(visitor: Visitor, screens: dict[str, str]) -> dict[str, list[str]]:
    broken = {}
    for path, heading in screens.items():
        await visitor.go(path)
        if heading:
            await expect(visitor.page.get_by_role("heading", level=1)).to_contain_text(heading)
        await expect(visitor.page.locator(".loading")).to_have_count(0)
        broken[path] = await violations(visitor)
        if (beyond := await overflow(visitor)) > 0:
            broken[path].append(f"the page is {beyond} pixels wider than its window")
    return {path: found for path, found in broken.items() if found}


async def show(visitor: Visitor, theme: str, size: ViewportSize) -> None:
    await visitor.page.set_viewport_size(size)
    await visitor.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")


async def things(app: TestApp) -> dict[str, str]:
    """Screens of one thing each: their addresses with its id, and a part of their heading."""
    found = {
        "rows/products/{}": ("/api/products?search=Lamp%20007", "Lamp 007"),
        "rows/products/{}?tab=reviews": ("/api/products?search=Lamp%20007", "Lamp 007"),
        "rows/categories/{}?tab=history": ("/api/categories?search=Category%2007", "Category 07"),
        "audit/event/{}": ("/api/audit-events?action=role.created", ""),
        "people/{}": ("/api/users?search=both", "Somebody Else"),
        "keys/{}": ("/api/service-accounts", "Robot"),
    }
    made = {"name": "Robot", "roles": ["Reader"]}
    await app.call("POST", "/api/service-accounts", as_whom="acme", json=made)
    invited = {"email": "somebody.new@acme.example", "roles": ["Reader"]}
    await app.call("POST", "/api/invitations", as_whom="acme", json=invited)
    screens = {}
    for path, (address, heading) in found.items():
        answer = (await app.call("GET", address, as_whom="acme")).json()
        items = answer.get("items") or answer["data"]["items"]
        screens[path.format(next(item["id"] for item in items))] = heading
    return screens


@pytest.mark.promise(
    "console, accessibility and states: WCAG 2.2 AA by axe, each screen, light and dark, 1440 and 390 pixels; no "
    "screen is wider than its window, nor the latest events at home"
)
@LOOKS
async def test_no_screen_breaks_a_rule(visitor: Visitor, theme: str, size: ViewportSize) -> None:
    page, app = visitor.page, visitor.service.app
    await show(visitor, theme, size)
    await visitor.open()
    await expect(page.get_by_label("E-mail")).to_be_visible()
    assert await violations(visitor) == []
    visitor.service.let_time_pass()
    await app.login("acme", "admin@acme.example")
    await visitor.enter()
    assert await look(visitor, {**MEMBER_SCREENS, **await things(app)}) == {}


@pytest.mark.promise(
    "console, accessibility and states: WCAG 2.2 AA by axe, each screen, light and dark, 1440 and 390 pixels; no "
    "screen is wider than its window, nor the latest events at home"
)
@LOOKS
async def test_screens_of_super_admins_break_no_rule(visitor: Visitor, theme: str, size: ViewportSize) -> None:
    await show(visitor, theme, size)
    await visitor.enter(email="admin@example.com")
    tenants = await visitor.service.app.call("GET", "/api/tenants?search=acme", as_whom="root")
    of_acme = f"tenants/{tenants.json()['data']['items'][0]['id']}"
    assert await look(visitor, {**ROOT_SCREENS, of_acme: "Acme"}) == {}


@pytest.mark.promise(
    "console, accessibility and states: WCAG 2.2 AA by axe, each screen, light and dark, 1440 and 390 pixels; no "
    "screen is wider than its window, nor the latest events at home"
)
async def test_what_happened_last_fits_a_telephone(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(NARROW)
    await visitor.enter()
    events = page.get_by_role("list").filter(has=page.get_by_text("Signed in")).last
    await expect(events).to_be_visible()
    assert await events.evaluate("box => box.scrollWidth - box.clientWidth") <= 0


async def test_an_address_with_a_tab_that_is_not_there_shows_the_fields(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    (lamp,) = (await app.call("GET", "/api/products?sku=LAMP-007", as_whom="acme")).json()["data"]["items"]
    values = {"productId": lamp["id"], "rating": 5, "author": "Ada"}
    review = (await app.call("POST", "/api/reviews", as_whom="acme", json=values)).json()["data"]
    # Reviews have no history.
    await visitor.enter(f"rows/reviews/{review['id']}?tab=history")
    await expect(page.get_by_label("Rating")).to_be_visible()
    await expect(page.locator(".tabs [aria-current=page]")).to_have_text("Fields")


@pytest.mark.promise(
    "console, accessibility and states: the same of dialogs, menus and errors; dialogs give the focus back"
)
@LOOKS
async def test_dialogs_menus_and_rows_break_no_rule(visitor: Visitor, theme: str, size: ViewportSize) -> None:
    page = visitor.page
    await show(visitor, theme, size)
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
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("alert")).to_be_visible()
    assert await violations(visitor) == []
    await visitor.open("people")
    await page.get_by_role("button", name="Add member").click()
    assert await violations(visitor) == []


@pytest.mark.promise("console, accessibility and states: 400 per cent")
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
    session = await visitor.chromium()
    metrics = await session.send("Page.getLayoutMetrics")
    return int(metrics["cssContentSize"]["width"] - metrics["cssLayoutViewport"]["clientWidth"])


@pytest.mark.promise("console, accessibility and states: Right to left")
async def test_a_right_to_left_language_mirrors_the_whole_page(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await expect(page.get_by_role("grid")).to_be_visible()
    session = await visitor.chromium()
    await session.send("Runtime.evaluate", {"expression": "document.documentElement.dir = 'rtl'"})
    side, grid = await page.locator("nav.side").bounding_box(), await page.get_by_role("grid").bounding_box()
    assert side is not None
    assert grid is not None
    assert side["x"] > grid["x"]
    assert await overflow(visitor) <= 0


@pytest.mark.promise("console, journeys: German, errors of the API included")
async def test_german_speaks_german_and_counts_in_it(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open()
    await page.get_by_role("button", name="Deutsch").click()
    await expect(page.get_by_label("Passwort")).to_be_visible()
    await page.get_by_role("button", name="English").click()
    await visitor.sign_in()
    await page.get_by_role("navigation").get_by_role("link", name="Somebody Else").click()
    await page.get_by_label("Language").select_option("de")
    await page.get_by_role("link", name="Übersicht").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hallo")
    assert await page.locator("html").get_attribute("lang") == "de"


@pytest.mark.promise(
    "console, accessibility and states: WCAG 2.2 AA by axe, each screen, light and dark, 1440 and 390 pixels; no "
    "screen is wider than its window, nor the latest events at home"
)
async def test_a_broken_rule_would_be_found(visitor: Visitor) -> None:
    await visitor.enter("account")
    await expect(visitor.page.get_by_role("heading", name="My account")).to_be_visible()
    session = await visitor.chromium()
    spoil = "document.querySelector('main').append(document.createElement('img'), document.createElement('button'))"
    await session.send("Runtime.evaluate", {"expression": spoil})
    assert {text.split(":")[0] for text in await violations(visitor)} == {"image-alt", "button-name"}
