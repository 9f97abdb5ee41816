"""Several tabs of one browser, and a tab that stays open while a new version is deployed.

The console behind a proxy that serves it below a path, which `BASE_URL` names.
"""

from typing import Any

import pytest
from litestar.types import ASGIApp
from playwright.async_api import Browser, Route, expect

from tests.console.conftest import BOTH, WIDE, Service, Visitor, free_port, serving

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.promise("console, journeys: two tabs stay in two tenants")
async def test_two_tabs_stay_in_two_tenants(visitor: Visitor) -> None:
    first = visitor.page
    await visitor.open()
    await visitor.sign_in(BOTH)
    await first.get_by_role("button", name="Acme").click()
    await expect(first.locator("nav.side")).to_be_visible()
    second = await visitor.context.new_page()
    visitor.watch(second)
    await second.goto(f"{visitor.home}/console/settings")
    await expect(second.locator("nav.side")).to_be_visible()
    name = second.locator(".tenant")
    if "Acme" in await name.inner_text():
        await name.click()
        await second.get_by_role("button", name="Other").click()
    await expect(name).to_contain_text("Other")
    for _ in range(2):
        visitor.service.let_time_pass()
        await first.reload()
        await second.reload()
        await expect(first.locator(".tenant")).to_contain_text("Acme")
        await expect(second.locator(".tenant")).to_contain_text("Other")


async def test_a_token_that_ended_is_renewed_without_a_word(visitor: Visitor) -> None:
    page, refused = visitor.page, 0

    async def refuse_once(route: Route) -> None:
        nonlocal refused
        refused += 1
        if refused == 1:
            await route.fulfill(status=401, content_type="application/json", body='{"success": false}')
        else:
            await route.continue_()

    await visitor.enter("account")
    await page.route("**/api/products?**", refuse_once)
    await page.get_by_role("link", name="Products").click()
    await expect(page.locator("tbody a").first).to_be_visible()
    assert refused > 1


@pytest.mark.promise("console, attacks: a tab from before a deployment, whose scripts are gone")
async def test_a_tab_of_before_a_deployment_reloads_once(visitor: Visitor) -> None:
    page, gone = visitor.page, 0

    async def lose(route: Route) -> None:
        nonlocal gone
        gone += 1
        await route.fulfill(status=404, body="")

    await visitor.enter("rows/products")
    await page.route("**/console/administration-*.js", lose)
    await page.get_by_role("link", name="Members").click()
    await expect(page.get_by_role("alert")).to_contain_text("did not work")
    assert gone == 2
    await page.unroute("**/console/administration-*.js", lose)
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("heading", name="Members")).to_be_visible()


PREFIX = "/tools/tenantry"


def taking_off(app: ASGIApp) -> ASGIApp:
    """A proxy as nginx with ``location /tools/tenantry/ { proxy_pass http://…/; }``: other paths are none of ours."""

    async def proxy(scope: Any, receive: Any, send: Any) -> None:
        inner = scope
        if scope["type"] == "http":
            path = scope["path"]
            if not path.startswith(f"{PREFIX}/"):
                await send({"type": "http.response.start", "status": 418, "headers": []})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                return
            rest = path.removeprefix(PREFIX)
            inner = {**scope, "path": rest, "raw_path": rest.encode()}
        await app(inner, receive, send)

    return proxy


async def test_behind_a_path_everything_is_found_below_it(service: Service, chromium: Browser) -> None:
    port = free_port()
    home = f"http://localhost:{port}{PREFIX}"
    context = await chromium.new_context(viewport=WIDE, locale="en-GB")
    async with serving(service.app, home, taking_off):
        visitor = Visitor(Service(service.app, home, service.stored), context, await context.new_page())
        visitor.watch(visitor.page)
        page = visitor.page
        await page.goto(f"{home}/")
        await expect(page).to_have_url(f"{home}/console")
        await visitor.sign_in()
        await page.get_by_role("navigation").get_by_role("link", name="Products").click()
        await expect(page).to_have_url(f"{home}/console/rows/products")
        await page.get_by_role("link", name="Lamp 249").click()
        await expect(page.get_by_role("heading", name="Lamp 249")).to_be_visible()
        await page.reload()
        await expect(page.get_by_role("heading", name="Lamp 249")).to_be_visible()
        await page.get_by_role("complementary").get_by_role("button", name="API", exact=True).click()
        await expect(page.get_by_role("dialog").locator("pre").first).to_contain_text(f"{home}/api/products/")
        outside = [request.url for request in visitor.requests if not request.url.startswith((f"{home}/", "data:"))]
        assert (outside, visitor.complaints) == ([], [])
        await context.close()
