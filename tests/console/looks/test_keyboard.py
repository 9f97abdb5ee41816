"""The console by its keyboard alone: sign-in, grid, form and import; and where the focus is, one sees it."""

import asyncio
import re

import pytest
from playwright.async_api import FileChooser, FilePayload, Locator, ViewportSize, expect

from tests.console.conftest import HOSTILE, NARROW, WIDE, Visitor
from tests.console.looks.test_accessibility import violations
from tests.http.app import PASSWORD
from tests.waiting import HUNG_AFTER

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

STOPS = 45
"""More than a screen has before its rows or fields."""

FOCUSED = """(() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  // a choice of files is drawn by its label
  const drawn = at.classList.contains('unseen') ? at.parentElement : at;
  const shown = drawn.getBoundingClientRect();
  const over = document.elementFromPoint(
    Math.min(Math.max(shown.x + shown.width / 2, 0), innerWidth - 1), shown.y + Math.min(shown.height / 2, 20));
  const ring = element => {
    const style = getComputedStyle(element);
    return style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  };
  const isSeen = over !== null && (drawn.contains(over) || over.contains(drawn));
  const hasRing = ring(drawn) || [...drawn.querySelectorAll('*')].some(ring);
  return [at.outerHTML.slice(0, 120), isSeen, hasRing];
})()"""


async def press_until(visitor: Visitor, name: str, key: str = "Tab") -> None:
    """Presses the key until the focus is on what is called so."""
    page = visitor.page
    wanted = page.get_by_role("textbox", name=name).or_(page.get_by_role("button", name=name))
    await press_until_focused(visitor, wanted, key)


async def press_until_focused(visitor: Visitor, wanted: Locator, key: str = "Tab") -> None:
    for _ in range(STOPS):
        await visitor.page.keyboard.press(key)
        if await wanted.first.evaluate("element => element === document.activeElement"):
            return
    focused = await visitor.page.evaluate("document.activeElement?.outerHTML.slice(0, 120)")
    raise AssertionError(f"{wanted} is not reached by {key}: the focus is on {focused}")


@pytest.mark.promise("console, accessibility and states: By the keyboard alone: sign-in, grid, form, import")
async def test_signing_in_needs_no_mouse(visitor: Visitor) -> None:
    page = visitor.page
    visitor.service.let_time_pass()
    await visitor.open("account")
    await expect(page.get_by_label("E-mail")).to_be_visible()
    await press_until(visitor, "E-mail")
    await page.keyboard.type("admin@acme.example")
    await page.keyboard.press("Tab")
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()


@pytest.mark.promise("console, accessibility and states: By the keyboard alone: sign-in, grid, form, import")
async def test_a_form_needs_no_mouse(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/categories/new")
    await expect(page.get_by_label("Name")).to_be_visible()
    await page.get_by_role("main").focus()
    await press_until(visitor, "Name")
    await page.keyboard.press("Enter")
    # the error is read out, and the focus is where it is mended
    await expect(page.get_by_role("alert")).to_be_visible()
    await expect(page.get_by_label("Name")).to_be_focused()
    await page.keyboard.type("By keyboard")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="By keyboard")).to_be_visible()


@pytest.mark.promise("console, accessibility and states: By the keyboard alone: sign-in, grid, form, import")
async def test_an_import_needs_no_mouse(visitor: Visitor) -> None:
    page = visitor.page
    # From the beginning: the browser shows a chooser to nobody where it is asked for one in the same moment.
    chosen: asyncio.Queue[FileChooser] = asyncio.Queue()
    page.on("filechooser", chosen.put_nowait)
    await visitor.enter("rows/products/import")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.locator(".loading")).to_have_count(0)
    await press_until_focused(visitor, page.locator("input[type=file]"))
    await page.keyboard.press("Space")
    async with asyncio.timeout(HUNG_AFTER):
        chooser = await chosen.get()
    content = b"name,sku,price\nBy keyboard,KEYS-1,1.50\n"
    await chooser.set_files([FilePayload(name="keys.csv", mimeType="text/csv", buffer=content)])
    await expect(page.get_by_role("heading", name="1 row would be imported")).to_be_visible()
    await press_until(visitor, "Import 1 row")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="1 row imported")).to_be_visible()


async def press(visitor: Visitor, *keys: str) -> None:
    for key in keys:
        await visitor.page.keyboard.press(key)


@pytest.mark.promise(
    "console, accessibility and states: Headers, boxes and links of the grid by the keyboard, and no cell behind a "
    "pinned one"
)
async def test_the_headers_of_the_grid_need_no_mouse(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await expect(page.locator("tbody a").first).to_be_visible()
    await page.get_by_role("main").focus()
    await press_until_focused(visitor, page.get_by_role("grid"))
    await press(visitor, "ArrowDown", "ArrowUp", "Enter")
    await expect(page).to_have_url(re.compile(r"\?sort=name:asc$"))
    # the order is another one, and the place in the grid is the same
    await expect(page.locator("th#active-cell")).to_have_text("Name")
    await press(visitor, "ArrowRight", "Shift+Enter")
    await expect(page).to_have_url(re.compile(r"\?sort=name:asc,sku:asc$"))
    await expect(page.locator("tbody a").first).to_have_text("Lamp 000")
    await press(visitor, "ArrowLeft", "ArrowLeft", "Space")
    await expect(page.locator(".selected")).to_contain_text("100 selected")
    await press(visitor, "Space")
    await expect(page.locator(".selected")).to_have_count(0)


@pytest.mark.promise(
    "console, accessibility and states: Headers, boxes and links of the grid by the keyboard, and no cell behind a "
    "pinned one"
)
async def test_links_in_cells_of_the_grid_need_no_mouse(visitor: Visitor) -> None:
    page = visitor.page
    email = "keys@acme.example"
    await visitor.service.app.make_user("acme", email, ["Admin"])
    await visitor.enter("rows/products?sort=name:asc&~columns=name,sku,categoryId,createdBy", email)
    await expect(page.locator("tbody tr:not(.spacer)").first.get_by_role("link")).to_have_count(3)
    await page.get_by_role("grid").focus()
    await press(visitor, "ArrowDown", "ArrowRight", "ArrowRight", "Enter")
    await expect(page.get_by_role("heading", name=HOSTILE)).to_be_focused()
    await page.go_back()
    await expect(page.locator("tbody tr:not(.spacer)").first.get_by_role("link")).to_have_count(3)
    await page.get_by_role("grid").focus()
    # no cell stands between the grid and what follows it
    await press(visitor, "Tab")
    assert await page.evaluate("document.activeElement.closest('[role=grid]')") is None
    await page.get_by_role("grid").focus()
    await press(visitor, "ArrowDown", "Enter")
    await expect(page.get_by_role("heading", name="Lamp 000")).to_be_focused()


@pytest.mark.promise(
    "console, accessibility and states: Headers, boxes and links of the grid by the keyboard, and no cell behind a "
    "pinned one"
)
async def test_the_active_cell_is_not_behind_a_pinned_one(visitor: Visitor) -> None:
    page = visitor.page
    columns = "name,sku,price,status,categoryId,stock,createdAt,updatedAt,description"
    await visitor.enter(f"rows/products?~columns={columns}&~pinned=2")
    await expect(page.locator("tbody a").first).to_be_visible()
    await page.get_by_role("grid").focus()
    await press(visitor, "ArrowDown", "End", *["ArrowLeft"] * 6)
    covered = """() => new Promise(done => requestAnimationFrame(() => {
      const [cell, pinned] = [...document.querySelectorAll('tbody tr:not(.spacer)')[0].cells].slice(2, 4).reverse();
      const at = cell.id === 'active-cell' ? cell.getBoundingClientRect().left : null;
      done(at === null ? 'another cell' : pinned.getBoundingClientRect().right - at);
    }))"""
    assert await page.evaluate(covered) <= 1


@pytest.mark.promise("console, accessibility and states: the focus is seen and not covered")
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_the_focus_is_seen_and_not_covered(visitor: Visitor, size: ViewportSize) -> None:
    page = visitor.page
    await page.set_viewport_size(size)
    await visitor.enter()
    session = await visitor.chromium()
    for path in ("rows/products", "rows/products/new", "people", "roles", "account", "settings"):
        await visitor.open(path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await expect(page.locator(".loading")).to_have_count(0)
        for _ in range(STOPS):
            await page.keyboard.press("Tab")
            # what was scrolled to comes to rest in the next frame
            await page.evaluate("() => new Promise(done => requestAnimationFrame(() => done()))")
            answer = await session.send("Runtime.evaluate", {"expression": FOCUSED, "returnByValue": True})
            focused = answer["result"].get("value")
            if focused is None:
                break
            assert focused[1:] == [True, True], (path, focused)


async def test_a_question_and_a_form_in_a_dialog_give_the_focus_back(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row = (await app.call("GET", "/api/products?sku=LAMP-007", as_whom="acme")).json()["data"]["items"][0]
    await visitor.enter(f"rows/products/{row['id']}")
    delete = page.get_by_role("button", name="Delete", exact=True)
    await delete.focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(delete).to_be_focused()
    await visitor.go("roles")
    add = page.get_by_role("button", name="Add role")
    await add.focus()
    await page.keyboard.press("Enter")
    await page.get_by_role("dialog").get_by_label("Name").fill("Packer")
    await page.keyboard.press("Enter")
    await visitor.said("Saved.")
    await expect(add).to_be_focused()


async def enter_on(wanted: Locator) -> None:
    await wanted.focus()
    await wanted.page.keyboard.press("Enter")


@pytest.mark.promise(
    "console, accessibility and states: what goes away gives the focus to its neighbour, what ran gives it back, and "
    "who clicked beside gets none"
)
async def test_a_reference_is_chosen_and_changed_without_a_mouse(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row = (await app.call("GET", "/api/products?sku=LAMP-007", as_whom="acme")).json()["data"]["items"][0]
    await visitor.enter(f"rows/products/{row['id']}")
    await enter_on(page.get_by_role("button", name="Remove Category"))
    field = page.get_by_role("combobox", name="Category")
    await expect(field).to_be_focused()
    await page.keyboard.type("Category 05")
    await expect(page.get_by_role("listbox").get_by_role("option")).to_have_text(["Category 05"])
    await page.keyboard.press("Enter")
    chosen = page.get_by_role("group", name="Category")
    await expect(chosen).to_be_focused()
    await expect(chosen).to_have_text("Category 05")
    assert await violations(visitor) == []
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Tab")
    await expect(page.get_by_label("Released at")).to_be_focused()


@pytest.mark.promise(
    "console, accessibility and states: what goes away gives the focus to its neighbour, what ran gives it back, and "
    "who clicked beside gets none"
)
async def test_a_removed_element_gives_the_focus_to_its_neighbour(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    for number in range(2):
        body = {"email": f"invited{number}@new.example", "roles": ["Reader"]}
        assert (await app.call("POST", "/api/invitations", as_whom="acme", json=body)).status_code == 201
    await visitor.enter("rows/products?status=live&price.gte=3")
    await enter_on(page.get_by_role("button", name=re.compile("filter Status")))
    await expect(page.get_by_role("button", name=re.compile("filter Price"))).to_be_focused()
    await page.get_by_role("checkbox", name="Select Lamp 249").check()
    await enter_on(page.get_by_role("button", name="Clear the selection"))
    await expect(page.get_by_role("grid")).to_be_focused()
    await visitor.go("people?tab=invitations")
    await enter_on(page.get_by_role("button", name="Revoke").first)
    await enter_on(page.get_by_role("dialog").get_by_role("button", name="Revoke"))
    # the invitation and the question are gone
    await visitor.said("Saved.")
    await expect(page.get_by_role("row")).to_have_count(2)
    await expect(page.get_by_role("button", name="Send again")).to_be_focused()
    await enter_on(page.locator(".toast").get_by_role("button", name="Close"))
    await expect(page.locator(".toast")).to_have_count(0)
    await expect(page.get_by_role("button", name="Send again")).to_be_focused()


@pytest.mark.promise(
    "console, accessibility and states: what goes away gives the focus to its neighbour, what ran gives it back, and "
    "who clicked beside gets none"
)
async def test_a_click_outside_all_controls_leaves_the_focus_on_the_page(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.get_by_role("searchbox").focus()
    await page.get_by_role("heading", level=1).click()
    await page.get_by_role("button", name="Reload").click()
    await page.locator("p.foot").click()
    await expect(page.locator("p.foot")).to_contain_text("250 rows")
    assert await page.evaluate("document.activeElement === document.body")


@pytest.mark.promise(
    "console, accessibility and states: a dialog begins in its first field, a question at the way back"
)
async def test_a_dialog_begins_in_its_first_field(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("roles")
    await enter_on(page.get_by_role("button", name="Add role"))
    await expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
    await page.keyboard.type("Packer")
    await page.keyboard.press("Enter")
    await visitor.said("Saved.")
    await expect(page.get_by_role("button", name=re.compile("^Packer"))).to_be_visible()
    # a question begins at the way back
    await enter_on(page.get_by_role("button", name=re.compile("^Packer")))
    await enter_on(page.get_by_role("button", name="Delete"))
    await expect(page.get_by_role("dialog").get_by_role("button", name="Cancel")).to_be_focused()
