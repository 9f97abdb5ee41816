"""docs/browsers.md: its client logs in, calls and refreshes, from a page of another host."""

import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, Route

from entrypoints.testing.app import ADMIN_EMAIL, ADMIN_PASSWORD, MemoryApp, open_app

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGE = (Path(__file__).resolve().parents[4] / "docs" / "browsers.md").read_text("utf-8")
FRONT, API = "https://app.example", "https://api.example"
FILES = {"/": ("text/html", "<!doctype html><title>Shop</title>")}

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: the page's client is not run"),
]


class Shop:
    """A page of FRONT in a browser; what it asks of API is answered by the application."""

    def __init__(self, page: Page, app: MemoryApp) -> None:
        self.page, self.app, self.asked = page, app, list[str]()

    async def serve(self, route: Route) -> None:
        request = route.request
        path = urlsplit(request.url).path
        if request.url.startswith(FRONT):
            kind, text = {**FILES, "/client.js": ("text/javascript", client())}[path]
            await route.fulfill(content_type=kind, body=text)
            return
        headers = {name: value for name, value in (await request.all_headers()).items() if not name.startswith(":")}
        content = request.post_data_buffer
        answer = await self.app.client.request(request.method, path, headers=headers, content=content)
        self.asked.append(f"{request.method} {path} {answer.status_code}")
        await route.fulfill(status=answer.status_code, headers=dict(answer.headers), body=answer.content)

    async def run(self, script: str) -> object:
        made = f"globalThis.client ??= (await import('{FRONT}/client.js')).makeClient('{API}')"
        return await self.page.evaluate(f"(async () => {{ {made}; {script} }})()")


def client() -> str:
    (text,) = re.findall(r"```js\n// client.js\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


@asynccontextmanager
async def open_shop(chromium: Browser) -> AsyncIterator[Shop]:
    # no fixture: the application has to be closed by the task that opened it
    (origins,) = re.findall(r"TENANTRY_CORS_ORIGINS=(\S+)", PAGE)
    async with open_app(settings={"TENANTRY_CORS_ORIGINS": origins}) as app:
        page = await chromium.new_page()
        opened = Shop(page, app)
        await page.route("**/*", opened.serve)
        await page.goto(FRONT)
        yield opened
        await page.context.close()


async def test_of_two_calls_with_an_old_token_one_refreshes(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        await shop.run(f"await client.login({json.dumps(ADMIN_EMAIL)}, {json.dumps(ADMIN_PASSWORD)})")
        assert await shop.run("return (await client.call('/api/products')).status") == 200
        shop.app.clock.move(timedelta(minutes=61))
        both = "const calls = ['/api/products', '/api/categories'].map((path) => client.call(path));"
        assert await shop.run(f"{both} return (await Promise.all(calls)).map((answer) => answer.status)") == [200, 200]
        assert shop.asked.count("POST /api/auth/refresh 200") == 1


async def test_a_page_sees_the_headers_that_a_client_needs(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        await shop.run(f"await client.login({json.dumps(ADMIN_EMAIL)}, {json.dumps(ADMIN_PASSWORD)})")
        new = "{method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({name: 'Lamps'})}"
        made = f"const made = await client.call('/api/categories', {new});"
        assert str(await shop.run(f"{made} return made.headers.get('Location')")).startswith("/api/categories/")


async def test_a_logged_out_browser_client_gets_token_expired(chromium: Browser) -> None:
    async with open_shop(chromium) as shop:
        await shop.run(f"await client.login({json.dumps(ADMIN_EMAIL)}, {json.dumps(ADMIN_PASSWORD)})")
        shop.app.clock.move(timedelta(days=8))
        code = await shop.run("return client.call('/api/products').then(() => '', (error) => error.code)")
        assert code == "TOKEN_EXPIRED"
