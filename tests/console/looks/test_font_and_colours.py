"""The font of the console, the colour of a tenant, and themes and density as the header sets them."""

import re

import pytest
from playwright.async_api import expect

from adapters import console
from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

FONTS = 45_000  # bytes
EXTREMES = ["#ffff00", "#000000", "#ffffff", "#808080"]


def test_both_files_of_the_font_are_within_their_budget_and_have_their_licence() -> None:
    files = console.files()
    fonts = [name for name in files if name.endswith(".woff2")]
    assert len(fonts) == 2
    assert sum(len(files[name]) for name in fonts) <= FONTS
    assert b"SIL OPEN FONT LICENSE Version 1.1" in files["LICENCES.txt"]


async def test_the_service_serves_the_font_and_only_the_file_that_the_letters_need(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.open()
    await expect(page.get_by_label("Password")).to_be_visible()
    assert await page.evaluate("document.fonts.ready.then(() => document.fonts.check('500 14px Inter'))")
    fetched = [request for request in visitor.requests if request.url.endswith(".woff2")]
    assert [re.sub("-[0-9A-Z]{8}", "", request.url.rsplit("/", 1)[1]) for request in fetched] == ["inter.woff2"]
    answer = await fetched[0].response()
    assert answer is not None
    assert answer.headers["content-type"] == "font/woff2"
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize("colour", EXTREMES)
async def test_any_colour_of_a_tenant_can_be_read_in_both_themes(visitor: Visitor, colour: str) -> None:
    page = visitor.page
    await visitor.enter()
    plain = await page.locator(".top .mark-of").evaluate("mark => getComputedStyle(mark).backgroundColor")
    body = {"branding": {"primaryColor": colour}}
    answer = await visitor.service.app.call("PUT", "/api/tenants/current/settings", as_whom="acme", json=body)
    assert answer.status_code == 200, answer.text
    await visitor.open("people")
    await expect(page.locator("table tbody tr").first).to_be_visible()
    assert await page.locator(".top .mark-of").evaluate("mark => getComputedStyle(mark).backgroundColor") != plain
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme)
        assert await violations(visitor) == [], theme


async def test_the_header_changes_theme_and_density_and_the_browser_remembers_both(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    row = page.locator("tbody tr:not(.spacer)").first
    await expect(row).to_be_visible()
    tall = await row.bounding_box()
    await page.get_by_role("button", name="Compact rows").click()
    await page.get_by_role("button", name="Dark", exact=True).click()
    await page.reload()
    await expect(row).to_be_visible()
    low = await row.bounding_box()
    assert tall is not None
    assert low is not None
    assert (tall["height"], low["height"]) == (40, 32)
    await expect(page.get_by_role("button", name="Dark", exact=True)).to_have_attribute("aria-pressed", "true")
    assert await page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
