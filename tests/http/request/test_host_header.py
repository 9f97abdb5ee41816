"""The header Host, which each request of HTTP/1.1 must carry (RFC 9112, 3.2)."""

import asyncio
from typing import Any

import pytest

from adapters.http.app import HttpSettings
from entrypoints.assembly.http_settings import http_settings
from entrypoints.settings.settings import read_settings
from tests.http.app import SETTINGS, TestApp
from tests.http.built_once import asgi_of
from tests.http.entities.attachments.desk import open_desk, png, with_photo
from tests.http.served import served_by

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


def test_the_host_of_links_is_that_of_the_setting_and_allowed() -> None:
    given = {
        "BASE_URL": "https://api.example",
        "FILES_BASE_URL": "https://Files.Example:8443/x",
        "ALLOWED_HOSTS": "api.example",
    }
    made = http_settings(read_settings({**SETTINGS, **{f"TENANTRY_{name}": value for name, value in given.items()}}))
    assert (made.files_host, made.allowed_hosts) == ("files.example", ("api.example", "files.example"))
    same = {"TENANTRY_BASE_URL": "https://api.example", "TENANTRY_FILES_BASE_URL": "https://api.example:8443"}
    assert http_settings(read_settings({**SETTINGS, **same})).files_host == ""


@pytest.mark.parametrize("host", [b"files.example", b"Files.Example.", b"files.example:8443"])
async def test_the_host_of_links_to_files_serves_nothing_else(host: bytes) -> None:
    app = await open_desk()
    settings = HttpSettings(files_host="files.example")
    link = (await app.call("POST", f"{await with_photo(app)}/photo/link", as_whom="acme", json={})).json()["data"][
        "url"
    ]
    path = link[link.index("/files/") :]
    assert await answer_to(app, path, "1.1", [(b"host", host)], settings) == (200, png())
    served = {endpoint.path for endpoint in served_by(app.services) if endpoint.method == "GET"}
    assert len(served) > 40
    for other in served - {"/files/{token}"} | {"/", "/nowhere"}:
        assert (await answer_to(app, other, "1.1", [(b"host", host)], settings))[0] == 404, other
    assert await answer_to(app, path, "1.1", [HOST], settings) == (200, png())
    assert (await answer_to(app, "/health/live", "1.1", [HOST], settings))[0] == 200


@pytest.mark.parametrize("version", ["1.0", "1.1", "2"])
async def test_allowed_hosts_refuse_a_missing_host_in_every_version(app: TestApp, version: str) -> None:
    settings = HttpSettings(allowed_hosts=("localhost",))
    assert (await answer_to(app, "/health/live", version, [], settings))[0] == 400
    assert (await answer_to(app, "/health/live", version, [HOST], settings))[0] == 200
