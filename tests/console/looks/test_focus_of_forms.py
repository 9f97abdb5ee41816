"""Where the focus is after a form was sent: on what sent it, or on the first field that was refused."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Locator, Page, Route, ViewportSize, expect

from tests.console.conftest import Visitor
from tests.console.looks.test_keyboard import enter_on
from tests.http.app import ADMIN

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


async def row(visitor: Visitor) -> str:
    listed = await visitor.service.app.call("GET", "/api/products?sku=LAMP-007", as_whom="acme")
    return f"rows/products/{listed.json()['data']['items'][0]['id']}"


async def person(visitor: Visitor) -> str:
    return f"people/{await visitor.service.app.make_user('acme', 'saved@acme.example', ['Reader'])}"


async def settings(_visitor: Visitor) -> str:
    return "settings"


async def tenant(visitor: Visitor) -> str:
    found = await visitor.service.app.call("GET", "/api/tenants/current", as_whom="acme")
    return f"tenants/{found.json()['data']['id']}"


FORMS: list[tuple[str, Callable[[Visitor], Awaitable[str]], str, str]] = [
    ("a row", row, "Name *", "Save"),
    ("a person", person, "Phone", "Save"),
    ("settings", settings, "Name shown to users", "Save"),
    ("security", settings, "Session lifetime (days)", "Save security"),
    ("a tenant", tenant, "Domain", "Save"),
]


def form_of(page: Page, label: str) -> Locator:
    return page.locator("form").filter(has=page.get_by_label(label, exact=True))


@pytest.mark.promise(
    "console, accessibility and states: who saves by keys keeps the focus, and who is refused gets it at the first "
    "wrong field"
)
@pytest.mark.parametrize(("path", "label", "button"), [form[1:] for form in FORMS], ids=[form[0] for form in FORMS])
async def test_the_focus_stays_on_the_button_that_saved(
    visitor: Visitor, path: Callable[[Visitor], Awaitable[str]], label: str, button: str
) -> None:
    page = visitor.page
    email = ADMIN if path is tenant else "admin@acme.example"
    await visitor.enter(await path(visitor), email)
    form = form_of(page, label)
    values = {"Phone": "+49 30 1234567", "Domain": "saved.example", "Session lifetime (days)": "20"}
    await form.get_by_label(label, exact=True).fill(values.get(label, "Saved"))
    save = form.get_by_role("button", name=button, exact=True)
    await enter_on(save)
    await expect(page.locator(".toasts")).to_contain_text("aved.")
    await expect(form).not_to_have_attribute("aria-busy", "true")
    await expect(save).to_be_focused()


@pytest.mark.promise(
    "console, accessibility and states: who saves by keys keeps the focus, and who is refused gets it at the first "
    "wrong field"
)
async def test_a_button_that_rests_sends_nothing(visitor: Visitor) -> None:
    page, asked = visitor.page, list[str]()
    page.on("request", lambda request: asked.append(request.url) if request.method != "GET" else None)
    await visitor.enter(await row(visitor))
    save = page.get_by_role("button", name="Save", exact=True)
    await expect(save).to_be_disabled()
    asked.clear()
    await enter_on(save)
    await save.click(force=True)
    await enter_on(page.get_by_label("Name *"))
    assert asked == []
    # nor does one whose request runs
    began = asyncio.Event()

    async def never(_route: Route) -> None:
        began.set()

    await page.route("**/api/products/*", never)
    await page.get_by_label("Name *").fill("Sent once")
    await enter_on(save)
    await began.wait()
    await expect(save).to_be_disabled()
    await expect(save).to_be_focused()
    await page.keyboard.press("Enter")
    assert len(asked) == 1


@pytest.mark.promise(
    "console, accessibility and states: who saves by keys keeps the focus, and who is refused gets it at the first "
    "wrong field"
)
async def test_the_first_field_that_is_refused_gets_the_focus_in_forms_of_the_administration(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("settings")
    form = form_of(page, "Time zone")
    await form.get_by_label("Time zone").fill("Nowhere")
    await enter_on(form.get_by_role("button", name="Save", exact=True))
    await expect(form.get_by_role("alert")).to_contain_text("1 field needs attention")
    await expect(form.get_by_label("Time zone")).to_be_focused()


async def test_the_reason_of_a_long_form_that_was_refused_is_in_sight(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(ViewportSize(width=390, height=500))
    await visitor.enter(await row(visitor))
    await page.get_by_label("Description").fill("Changed")
    await page.route("**/api/products/*", lambda route: route.fulfill(status=503, json={}))
    await enter_on(page.get_by_role("button", name="Save", exact=True))
    await expect(page.get_by_role("alert")).to_be_in_viewport()


async def test_a_column_moved_up_to_the_top_retains_the_focus(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.get_by_role("button", name="Columns").click()
    up = page.get_by_role("button", name="Move Price up")
    for _ in range(3):
        await enter_on(up)
        await expect(up).to_be_focused()
    await expect(up).to_be_disabled()
    await expect(page.get_by_role("columnheader").nth(1)).to_have_text("Price")


@pytest.mark.promise(
    "console, accessibility and states: who saves by keys keeps the focus, and who is refused gets it at the first "
    "wrong field"
)
async def test_the_pager_of_a_list_retains_the_focus(visitor: Visitor) -> None:
    page = visitor.page

    async def of_two(route: Route) -> None:
        answer = await route.fetch()
        body = await answer.json()
        asked = 2 if "page=2" in route.request.url else 1
        await route.fulfill(response=answer, json={**body, "page": asked, "totalPages": 2})

    await page.route("**/api/users?*", of_two)
    await visitor.enter("people")
    following = page.get_by_role("button", name="Next")
    await enter_on(following)
    await expect(page.get_by_text("Page 2 of 2")).to_be_visible()
    await expect(following).to_be_focused()
    await expect(following).to_be_disabled()
