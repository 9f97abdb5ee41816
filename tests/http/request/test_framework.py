"""Requests that go straight to the door are answered as the framework would have them answered."""

import re
from typing import Any

import httpx
import pytest

from adapters.http.app import HttpSettings, build_app
from tests.http.app import TestApp

PATHS = ["/health/live", "//health//live", "/health/live/", "/", "//", "/api//products", "/nowhere", "/%2F/health/live"]
HOSTS = ["localhost", "a.example:80", "[::1]:80", "", "a b", "a/b", "ä.example", "user@there", "a\\b"]


async def ask(app: Any, path: str, host: str) -> tuple[int, list[str]]:
    """The status, and the code of the error if it is one."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
        url = httpx.URL("http://localhost").copy_with(raw_path=path.encode())
        response = await client.request("GET", url, headers=[(b"Host", host.encode("utf-8"))])
    return response.status_code, re.findall(r'"(?:code|errorCode)":"(\w+)"', response.text)


@pytest.mark.parametrize("host", HOSTS)
async def test_an_odd_host_or_path_is_answered_as_by_the_framework(app: TestApp, host: str) -> None:
    served = build_app(app.services, HttpSettings())
    for path in PATHS:
        assert await ask(served, path, host) == await ask(served.framework, path, host), path


async def test_a_host_that_is_none_is_refused_and_a_usual_one_is_not(app: TestApp) -> None:
    served = build_app(app.services, HttpSettings())
    statuses = [(await ask(served, "/health/live", host))[0] for host in ("localhost:8000", "a b", "a/b")]
    assert statuses == [200, 400, 400]
