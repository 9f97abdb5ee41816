"""A browser on a page of another host, which uses the client that the service ships."""

import json
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, BrowserContext, Page, Route

from entrypoints.testing.app import ADMIN_EMAIL, ADMIN_PASSWORD, MemoryApp, open_app
from tests.http.app import Json

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
PAGE = (Path(__file__).resolve().parents[4] / "docs" / "browsers.md").read_text("utf-8")
FRONT, API = "https://app.example", "https://api.example"
SCRIPTS = dict(re.findall(r"```js\n// (\w+\.js)\n(.*?)```", PAGE, re.DOTALL))
LOGIN = f"client.login({json.dumps(ADMIN_EMAIL)}, {json.dumps(ADMIN_PASSWORD)})"

in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: the page's client is not run")


class Tab:
    """A page of FRONT in a browser: ``client`` is made of /docs/client.js with some options."""

    def __init__(self, page: Page, options: str) -> None:
        self.page, self.options = page, options

    async def run(self, script: str) -> object:
        made = (
            f"globalThis.told ??= []; globalThis.module ??= await import('{FRONT}/client.js');"
            f"globalThis.client ??= module.makeClient('{API}', {{ onChange: (is) => told.push(is), {self.options} }});"
        )
        return await self.page.evaluate(f"(async () => {{ {made} {script} }})()")

    async def status(self, path: str) -> object:
        return await self.run(f"return (await client.call('{path}')).status")


class Shop:
    """A browser on FRONT; what it asks of API is answered by the application."""

    def __init__(self, context: BrowserContext, app: MemoryApp) -> None:
        self.context, self.app, self.asked = context, app, list[str]()
        self.answers: dict[str, tuple[int, str]] = {}

    async def serve(self, route: Route) -> None:
        request = route.request
        path = urlsplit(request.url).path
        if request.url.startswith(FRONT):
            await route.fulfill(**await self._file(path))
            return
        if path in self.answers:
            status, text = self.answers[path]
            await route.fulfill(status=status, body=text, headers={"Access-Control-Allow-Origin": FRONT})
            return
        headers = {name: value for name, value in (await request.all_headers()).items() if not name.startswith(":")}
        url = request.url.removeprefix(API)
        answer = await self.app.client.request(request.method, url, headers=headers, content=request.post_data_buffer)
        self.asked.append(f"{request.method} {path} {answer.status_code}")
        await route.fulfill(status=answer.status_code, headers=dict(answer.headers), body=answer.content)

    async def _file(self, path: str) -> Json:
        if path == "/":
            return {"content_type": "text/html", "body": "<!doctype html><title>Shop</title>"}
        served = (await self.app.client.get("/docs/client.js")).text
        scripts = {**SCRIPTS, "client.js": served, "shop.js": SCRIPTS["shop.js"].replace("https://api.example", API)}
        return {"content_type": "text/javascript", "body": scripts[path.removeprefix("/")]}

    async def open(self, options: str = "") -> Tab:
        page = await self.context.new_page()
        await page.goto(FRONT)
        return Tab(page, options)

    def refreshes(self) -> int:
        return self.asked.count("POST /api/auth/refresh 200")


@asynccontextmanager
async def open_shop(chromium: Browser) -> AsyncIterator[Shop]:
    # no fixture: the application has to be closed by the task that opened it
    (origins,) = re.findall(r"TENANTRY_CORS_ORIGINS=(\S+)", PAGE)
    async with open_app(settings={"TENANTRY_CORS_ORIGINS": origins}) as app:
        context = await chromium.new_context()
        opened = Shop(context, app)
        await context.route("**/*", opened.serve)
        yield opened
        await context.close()
