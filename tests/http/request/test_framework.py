"""Litestar serves every request: odd paths and hosts, HEAD, OPTIONS, and nothing of ours before its router."""

import re
from typing import Any

import httpx
import pytest
from litestar import Litestar

from adapters.http.app import HttpSettings, build_app
from adapters.prometheus.metrics import PrometheusMetrics
from entrypoints.assembly.http_settings import http_settings
from entrypoints.settings.settings import read_settings
from tests.http.app import SETTINGS, TestApp
from tests.http.built_once import asgi_of
from tests.http.served import served_by

FOUND = ["/health/live", "//health//live", "/health/live/", "/docs", "//docs/"]
UNKNOWN = ["/", "//", "/nowhere", "/%2F/nowhere", "/api/nowhere/"]
HOSTS = ["localhost", "a.example:80", "[::1]:80", "user@there"]
NO_HOSTS = ["", "a b", "a/b", "a\\b"]


async def ask(app: Any, path: str, host: str, method: str = "GET") -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
        url = httpx.URL("http://localhost").copy_with(raw_path=path.encode())
        return await client.request(method, url, headers=[(b"Host", host.encode("utf-8"))])


def codes(answer: httpx.Response) -> list[str]:
    return re.findall(r'"(?:code|errorCode)":"(\w+)"', answer.text)


async def test_the_served_application_is_a_litestar_with_every_path(app: TestApp) -> None:
    served = build_app(app.services, HttpSettings(), PrometheusMetrics())
    assert type(served) is Litestar
    paths = {route.path_format for route in served.routes}
    assert {"/api/auth/login", "/api/products/{id}", "/health/live", "/docs/v1/docs.json"} <= paths
    assert {handler.path for handler in served_by(app.services)} <= paths


@pytest.mark.parametrize("host", HOSTS)
async def test_slashes_that_are_doubled_or_trail_are_as_if_they_were_not_there(app: TestApp, host: str) -> None:
    served = asgi_of(app.services)
    for path in FOUND:
        assert (await ask(served, path, host)).status_code in (200, 302), path
    for path in UNKNOWN:
        answer = await ask(served, path, host)
        assert (answer.status_code, codes(answer)) == (404, ["NOT_FOUND"]), path


@pytest.mark.parametrize("host", NO_HOSTS)
async def test_a_host_that_is_none_is_refused(app: TestApp, host: str) -> None:
    served = asgi_of(app.services)
    for path in ("/health/live", "/api/users", "/nowhere"):
        answer = await ask(served, path, host)
        code = "VALIDATION_ERROR" if path == "/api/users" else "BAD_REQUEST"
        assert (answer.status_code, codes(answer)) == (400, [code]), path
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.promise("security, transport: Behind https, browsers are told to come by https alone")
@pytest.mark.parametrize(
    ("base_url", "said"),
    [
        ("https://a.example", "max-age=31536000"),
        ("HTTPS://a.example/b", "max-age=31536000"),
        ("http://a.example", None),
        ("https://localhost:8443", None),
    ],
)
async def test_hsts_is_sent_to_browsers_only_behind_https(app: TestApp, base_url: str, said: str | None) -> None:
    served = build_app(app.services, http_settings(read_settings({**SETTINGS, "TENANTRY_BASE_URL": base_url})))
    for path in ("/health/live", "/docs/index.html", "/api/users", "/nowhere"):
        answer = await ask(served, path, "a.example")
        assert answer.headers.get("strict-transport-security") == said, path


async def test_head_is_get_without_its_body(app: TestApp) -> None:
    served = asgi_of(app.services)
    for path in ("/health/live", "/docs/v1/docs.json", "/docs/index.html", "/api/products"):
        got, head = await ask(served, path, "localhost"), await ask(served, path, "localhost", "HEAD")
        assert (head.status_code, head.content) == (got.status_code, b""), path
        assert head.headers["content-length"] == got.headers["content-length"], path


async def test_options_and_405_name_the_methods(app: TestApp) -> None:
    served = asgi_of(app.services)
    for path, allow in (
        ("/api/products", "GET, POST, HEAD, OPTIONS"),
        ("/api/products/17", "DELETE, GET, PATCH, PUT, HEAD, OPTIONS"),
        ("/api/auth/login", "POST, OPTIONS"),
    ):
        options = await ask(served, path, "localhost", "OPTIONS")
        assert (options.status_code, options.headers["allow"], options.content) == (204, allow, b"")
        other = await ask(served, path, "localhost", "TRACE")
        assert (other.status_code, other.headers["allow"], codes(other)) == (405, allow, ["METHOD_NOT_ALLOWED"])


async def test_no_page_of_the_framework_is_shown(app: TestApp) -> None:
    answer = await ask(asgi_of(app.services), "/docs/v1/nothing", "localhost")
    assert (answer.status_code, codes(answer)) == (404, ["NOT_FOUND"])


async def test_a_websocket_is_refused(app: TestApp) -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope: Any = {"type": "websocket", "path": "/api/products", "query_string": b"", "headers": []}
    await asgi_of(app.services)(scope, receive, send)
    assert [message["type"] for message in sent] == ["websocket.close"]
