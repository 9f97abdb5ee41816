"""The header Host, which each request of HTTP/1.1 must carry (RFC 9112, 3.2)."""

import asyncio
from typing import Any

import pytest

from adapters.http.app import HttpSettings
from tests.http.app import TestApp
from tests.http.built_once import asgi_of

Headers = list[tuple[bytes, bytes]]

PATHS = ["/health/live", "/api/users", "/api/products", "/nowhere", "/docs", "/.well-known/jwks.json"]
HOST = (b"host", b"localhost")
MISSING = b"needs the header Host"


async def answer_to(
    app: TestApp, path: str, version: str, headers: Headers, settings: HttpSettings | None = None
) -> tuple[int, bytes]:
    """The status and the body."""
    sent: list[Any] = []
    scope: Any = {
        "type": "http",
        "http_version": version,
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "client": ("127.0.0.1", 1),
        "headers": headers,
    }

    async def receive() -> Any:
        return await asyncio.Future()

    async def send(message: Any) -> None:
        sent.append(message)

    await asgi_of(app.services, settings or HttpSettings())(scope, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


@pytest.mark.promise("security, transport: HTTP/1.1 without Host is refused")
@pytest.mark.parametrize("path", PATHS)
async def test_a_request_of_http_1_1_without_host_is_refused(app: TestApp, path: str) -> None:
    for headers in ([(b"accept", b"*/*")], [(b"host", b"")]):
        status, body = await answer_to(app, path, "1.1", headers)
        assert (status, MISSING in body) == (400, True)
        assert (b"isSuccess" in body) is (path == "/api/users")  # the envelope of its area


@pytest.mark.parametrize(("version", "headers"), [("1.0", []), ("1.0", [HOST]), ("1.1", [HOST]), ("1", []), ("2", [])])
async def test_requests_that_need_no_host_or_have_one_are_answered(
    app: TestApp, version: str, headers: Headers
) -> None:
    for path in PATHS:
        status, body = await answer_to(app, path, version, headers)
        assert (status != 400, MISSING in body) == (True, False)


async def test_two_hosts_are_refused(app: TestApp) -> None:
    status, body = await answer_to(app, "/health/live", "1.1", [HOST, (b"host", b"elsewhere")])
    assert (status, b"The header host occurs twice" in body) == (400, True)


@pytest.mark.parametrize("version", ["1.0", "1.1", "2"])
async def test_allowed_hosts_refuse_a_missing_host_in_every_version(app: TestApp, version: str) -> None:
    settings = HttpSettings(allowed_hosts=("localhost",))
    assert (await answer_to(app, "/health/live", version, [], settings))[0] == 400
    assert (await answer_to(app, "/health/live", version, [HOST], settings))[0] == 200
