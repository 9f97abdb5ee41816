"""What screens show without data: waiting, empty, failed, forbidden, out of reach; and the way back."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Route, expect

from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations, violations_in_all_looks

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

LISTS = {
    "rows/products": "/api/products?*",
    "people": "/api/users?*",
    "people?tab=invitations": "/api/invitations?*",
    "keys": "/api/service-accounts?*",
    "webhooks": "/api/webhooks",
    "roles": "/api/roles",
    "settings": "/api/tenants/current/settings",
    "account": "/api/auth/factors",
}
"""Screens, and what each of them reads."""

ROUTE = Callable[[Route], Awaitable[None]]


def refusing(status: int) -> ROUTE:
    async def refuse(route: Route) -> None:
        error = {"code": "X", "message": "", "details": [], "traceId": "trace-1"}
        plain = {"isSuccess": False, "success": False, "errorCode": "X", "errorMessage": "", "error": error}
        await route.fulfill(status=status, json=plain, headers={"X-Request-Id": "trace-1"})

    return refuse


def holding(release: asyncio.Event) -> ROUTE:
    async def hold(route: Route) -> None:
        await release.wait()
        await route.continue_()

    return hold


async def unreachable(route: Route) -> None:
    await route.abort("connectionrefused")


@pytest.mark.promise("console, accessibility and states: Empty, waiting, failed, forbidden, missing and offline")
@pytest.mark.parametrize(
    ("answer", "told", "has_way_back"),
    [
        (refusing(500), "the request trace-1", True),
        (refusing(403), "Your roles do not include this", False),
        (refusing(404), "It was deleted, or the address is wrong", False),
        (unreachable, "The service cannot be reached", True),
    ],
    ids=["failed", "forbidden", "missing", "offline"],
)
async def test_each_list_says_why_it_shows_nothing(
    visitor: Visitor, answer: ROUTE, told: str, has_way_back: bool
) -> None:
    page = visitor.page
    await visitor.enter()
    broken = {}
    for path, read in LISTS.items():
        pattern = f"**{read}"
        await page.route(pattern, answer)
        await visitor.go(path)
        notice = page.locator(".notice", has_text=told).first
        await expect(notice).to_be_visible()
        broken[path] = await violations_in_all_looks(visitor)
        await page.unroute(pattern)
        if has_way_back:
            await notice.get_by_role("button", name="Try again").click()
            await expect(notice).to_have_count(0)
    assert {path: found for path, found in broken.items() if found} == {}


async def test_a_screen_that_cannot_be_fetched_comes_when_the_service_is_back(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await visitor.context.set_offline(True)
    await visitor.go("settings")
    notice = page.locator(".notice", has_text="The service cannot be reached").first
    await expect(notice).to_be_visible()
    await visitor.context.set_offline(False)
    await notice.get_by_role("button", name="Try again").click()
    await expect(page.get_by_label("Accent colour", exact=True)).to_be_visible()


async def test_rows_that_cannot_be_read_are_not_asked_for_again_and_again(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter()
    await page.route("**/api/products?*", refusing(500))
    await visitor.open("rows/products")
    notice = page.locator(".notice", has_text="the request trace-1")
    await expect(notice).to_be_visible()
    assert await violations(visitor) == []  # takes longer than many requests
    assert len([request for request in visitor.requests if "/api/products?page=" in request.url]) == 1
    await page.unroute("**/api/products?*")
    await notice.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("link", name="Lamp 249")).to_be_visible()


@pytest.mark.promise("console, accessibility and states: Empty, waiting, failed, forbidden, missing and offline")
async def test_each_list_says_that_it_waits(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter()
    for path, read in LISTS.items():
        release = asyncio.Event()
        await page.route(f"**{read}", holding(release))
        await visitor.go(path)
        waiting = page.get_by_role("status", name="Loading").or_(page.locator("[aria-busy=true]")).first
        await expect(waiting).to_be_attached()
        assert await violations_in_all_looks(visitor) == [], path
        release.set()
        await expect(waiting).to_have_count(0)
        await page.unroute(f"**{read}")


@pytest.mark.promise("console, accessibility and states: Empty, waiting, failed, forbidden, missing and offline")
async def test_an_empty_list_says_so_and_suggests_the_next_step(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    visitor.service.let_time_pass()
    await app.login("root", "admin@example.com")
    await app.make_tenant("bare")
    await app.make_user("bare", "first@bare.example", ["Admin"])
    await visitor.enter(email="first@bare.example")
    for path, told in {
        "rows/products": "No rows yet",
        "rows/products?name=x": "No rows match",
        "people?tab=invitations": "No invitations",
        "keys": "No service accounts",
        "webhooks": "No webhooks",
        "settings": "This tenant has no owners",
        "account": "your password is enough to sign in",
    }.items():
        await visitor.go(path)
        await expect(page.get_by_text(told).first).to_be_visible()
        assert await violations_in_all_looks(visitor) == [], path


@pytest.mark.promise("console, accessibility and states: Empty, waiting, failed, forbidden, missing and offline")
async def test_a_console_that_is_opened_without_the_service_comes_back_with_it(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("people")
    await page.route("**/console/session/refresh", unreachable)
    await page.reload()
    await expect(page.get_by_role("heading", name="Offline")).to_be_visible()
    assert await violations_in_all_looks(visitor) == []
    await page.unroute("**/console/session/refresh")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("heading", name="Members")).to_be_visible()


async def test_nothing_new_is_offered_among_deleted_rows(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    (lamp,) = (await app.call("GET", "/api/products?sku=LAMP-007", as_whom="acme")).json()["data"]["items"]
    new = page.get_by_role("main").get_by_role("link", name="New", exact=True)
    await visitor.enter("rows/products")
    await expect(new).to_be_visible()
    await visitor.go(f"rows/products/{lamp['id']}?tab=reviews")
    await expect(new).to_be_visible()
    assert (await app.call("DELETE", f"/api/products/{lamp['id']}", as_whom="acme")).status_code == 204
    review = {"productId": lamp["id"], "rating": 5, "author": "Ada"}
    assert (await app.call("POST", "/api/reviews", as_whom="acme", json=review)).status_code == 400
    for path in ("rows/products?includeDeleted=true", f"rows/products/{lamp['id']}?tab=reviews"):
        await visitor.open(path)
        await expect(page.get_by_role("main").get_by_text("Deleted", exact=False).first).to_be_visible()
        await expect(new).to_have_count(0)


async def test_a_slow_answer_to_an_earlier_search_is_not_shown(visitor: Visitor) -> None:
    page, asked, answered = visitor.page, asyncio.Event(), asyncio.Event()
    await visitor.enter("people")
    await expect(page.get_by_role("row")).not_to_have_count(0)

    async def slow(route: Route) -> None:
        answer = await route.fetch()
        asked.set()
        await answered.wait()
        await route.fulfill(response=answer)

    await page.route("**/api/users?search=reader&*", slow)
    search = page.get_by_role("searchbox")
    await search.fill("reader")
    await asked.wait()
    await search.fill("admin@acme")
    rows = page.locator("tbody tr")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("admin@acme.example")
    async with page.expect_response("**/api/users?search=reader&*"):
        answered.set()
    await page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    await expect(rows).to_contain_text("admin@acme.example")


async def test_nothing_is_imported_among_deleted_rows(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.get_by_role("button", name="More").click()
    await expect(page.get_by_role("button", name="Import")).to_be_visible()
    await page.get_by_role("button", name="Deleted rows").click()
    await expect(page.get_by_role("heading", name="Products · Deleted")).to_be_visible()
    await page.get_by_role("button", name="More").click()
    await expect(page.get_by_role("button", name="Export")).to_be_visible()
    await expect(page.get_by_role("button", name="Import")).to_have_count(0)


async def test_a_slow_first_screen_shows_a_loading_state(visitor: Visitor) -> None:
    page, answered = visitor.page, asyncio.Event()
    await visitor.enter("rows/products")

    async def slow(route: Route) -> None:
        await answered.wait()
        await route.continue_()

    await page.route("**/console/session/refresh", slow)
    await page.goto(page.url, wait_until="commit")
    await expect(page.locator(".starting")).to_be_visible()
    answered.set()
    await expect(page.get_by_role("heading", name="Products")).to_be_visible()
    await expect(page.locator(".starting")).to_have_count(0)


@pytest.mark.promise("console, accessibility and states: a screen that shows nothing has a heading that gets the focus")
@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("nowhere", "Not found"),
        ("rows/products/01990000-0000-7000-8000-000000000000", "Not found"),
        ("people/01990000-0000-7000-8000-000000000000", "Not found"),
        ("tenants", "No access"),
        ("rows/secrets", "No access"),
    ],
)
async def test_a_screen_that_shows_nothing_has_a_heading_that_gets_the_focus(
    visitor: Visitor, path: str, title: str
) -> None:
    await visitor.enter()
    await visitor.go(path)
    heading = visitor.page.get_by_role("heading", level=1)
    await expect(heading).to_have_text(title)
    await expect(heading).to_be_focused()
