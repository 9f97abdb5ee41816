"""The console behind a proxy that serves it below a path, which `BASE_URL` names."""

from typing import Any

import pytest
from litestar.types import ASGIApp
from playwright.async_api import Browser, expect

from tests.console.conftest import WIDE, Service, Visitor, free_port, serving

PREFIX = "/tools/tenantry"

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


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
        await page.get_by_role("button", name="API", exact=True).click()
        await expect(page.get_by_role("dialog").locator("pre").first).to_contain_text(f"{home}/api/products/")
        outside = [request.url for request in visitor.requests if not request.url.startswith((f"{home}/", "data:"))]
        assert (outside, visitor.complaints) == ([], [])
        await context.close()
