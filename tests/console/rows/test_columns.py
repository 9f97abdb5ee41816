"""Columns are resized and reordered; references are looked at; rows are cards on a telephone."""

import re

import pytest
from playwright.async_api import FloatRect, Locator, ViewportSize, expect

from tests.console.conftest import HOSTILE, NARROW, Visitor
from tests.console.looks.test_accessibility import violations
from tests.console.rows.test_opening import LAMPS, row_of

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

COLUMNS = pytest.mark.promise(
    "console, journeys: columns are resized and reordered by dragging and by keys, and stay so"
)


def header(visitor: Visitor, name: str) -> Locator:
    return visitor.page.get_by_role("columnheader", name=name, exact=True)


async def box(locator: Locator) -> FloatRect:
    found = await locator.bounding_box()
    assert found is not None
    return found


async def drag(visitor: Visitor, start: tuple[float, float], end: tuple[float, float]) -> None:
    mouse = visitor.page.mouse
    await mouse.move(*start)
    await mouse.down()
    await mouse.move(*end, steps=4)
    await mouse.up()


@COLUMNS
async def test_a_column_is_resized_at_its_edge_and_the_width_stays(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await expect(row_of(visitor, "Lamp 249")).to_be_visible()
    before = await box(header(visitor, "SKU"))
    edge, middle = before["x"] + before["width"] - 3, before["y"] + 12
    await drag(visitor, (edge, middle), (edge + 90, middle))
    await expect(page).to_have_url(re.compile(r"~widths=sku:\d+"))
    wider = await box(header(visitor, "SKU"))
    assert wider["width"] > before["width"] + 60
    # no order was asked for
    assert "sort" not in page.url
    await visitor.go("account")
    await visitor.go("rows/products")
    await expect(row_of(visitor, "Lamp 249")).to_be_visible()
    assert (await box(header(visitor, "SKU")))["width"] == wider["width"]
    await page.get_by_role("button", name="Columns").click()
    await page.get_by_role("button", name="Reset").click()
    await expect(page).to_have_url(f"{visitor.home}/console/rows/products")


@COLUMNS
async def test_a_column_is_dragged_to_another_place(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products?sort=name:asc")
    await expect(row_of(visitor, "Lamp 000")).to_be_visible()
    status, sku = await box(header(visitor, "Status")), await box(header(visitor, "SKU"))
    middle = sku["y"] + 12
    await drag(visitor, (status["x"] + 40, middle), (sku["x"] + 8, middle))
    await expect(page.get_by_role("columnheader")).to_have_text(
        ["", "Name", "Status", "SKU", "Category", "Price", "Stock", "Released at", "Photo"]
    )
    assert "sort=name:asc" in page.url


@COLUMNS
async def test_keys_resize_and_move_the_column_of_the_active_header(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products?sort=name:asc")
    await expect(row_of(visitor, "Lamp 000")).to_be_visible()
    before = await box(header(visitor, "SKU"))
    await page.get_by_role("grid").focus()
    for key in ("ArrowDown", "ArrowUp", "ArrowRight", "Alt+ArrowRight", "Alt+ArrowRight"):
        await page.keyboard.press(key)
    await expect(page).to_have_url(re.compile("~widths=sku:"))
    assert (await box(header(visitor, "SKU")))["width"] > before["width"]
    await page.keyboard.press("Shift+ArrowRight")
    await expect(page.get_by_role("columnheader")).to_have_text(
        ["", "Name", "Category", "SKU", "Price", "Stock", "Status", "Released at", "Photo"]
    )
    await expect(page.locator("th#active-cell")).to_have_text("SKU")


@pytest.mark.promise("console, journeys: a look at the row that a cell refers to, by the pointer and by keys")
async def test_a_reference_is_looked_at_by_the_pointer_and_by_keys(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter(LAMPS)
    await row_of(visitor, "Lamp 002").locator("a.ref").hover()
    peek = page.locator(".popover.peek")
    await expect(peek).to_contain_text(HOSTILE)
    await expect(peek).to_contain_text("Created at")
    assert await violations(visitor) == []
    await page.mouse.move(5, 5)
    await expect(peek).to_have_count(0)
    await page.get_by_role("grid").focus()
    for key in ("ArrowDown", "ArrowDown", "End", "Alt+Enter"):
        await page.keyboard.press(key)
    await expect(peek).to_contain_text(HOSTILE)
    await page.keyboard.press("Escape")
    await expect(peek).to_have_count(0)


@pytest.mark.promise("console, accessibility and states: on a telephone rows are cards, which the keys walk through")
@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_rows_are_cards_on_a_telephone(visitor: Visitor, theme: str) -> None:
    page = visitor.page
    await page.set_viewport_size(NARROW)
    await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    await visitor.enter(LAMPS)
    card = row_of(visitor, "Lamp 003")
    await expect(card).to_be_visible()
    whole, name = await box(card), await box(card.get_by_role("link", name="Lamp 003"))
    for text in ("LAMP-003", "3.50", "For sale"):
        cell = await box(card.get_by_text(text, exact=True))
        # below the name, and within the card
        assert cell["y"] >= name["y"] + 10
        assert whole["x"] <= cell["x"]
        assert cell["x"] + cell["width"] <= whole["x"] + whole["width"]
    assert await violations(visitor) == []
    await page.get_by_label("Sort", exact=True).select_option("Price ↑")
    await expect(page).to_have_url(re.compile("sort=price:asc"))
    await expect(row_of(visitor, "Lamp 000")).to_be_visible()
    # the header is in sight only while the keys are on it
    header = page.locator("thead")
    assert (await box(header))["height"] <= 1
    await page.get_by_role("grid").focus()
    for key in ("ArrowDown", "ArrowUp"):
        await page.keyboard.press(key)
    assert (await box(header))["height"] >= 24
    for key in ("ArrowDown", "Control+End"):
        await page.keyboard.press(key)
    await expect(row_of(visitor, "Lamp 249")).to_be_in_viewport()


@pytest.mark.promise("console, accessibility and states: on a telephone rows are cards, which the keys walk through")
async def test_a_tap_anywhere_on_a_card_opens_the_page_of_the_row(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(ViewportSize(width=360, height=780))
    await visitor.enter(LAMPS)
    await row_of(visitor, "Lamp 004").get_by_text("LAMP-004").click()
    await expect(page.get_by_role("heading", level=1, name="Lamp 004")).to_be_visible()
