"""CORS, allowed hosts and compression by settings."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from entrypoints.testing.app import MemoryApp, open_app
from tests.kept_open import kept_open

ORIGIN = "https://app.example"


@pytest_asyncio.fixture(scope="module")
async def with_origins() -> AsyncIterator[MemoryApp]:
    async with kept_open(open_app(settings={"TENANTRY_CORS_ORIGINS": ORIGIN})) as app:
        yield app


@pytest_asyncio.fixture(scope="module")
async def plain() -> AsyncIterator[MemoryApp]:
    async with kept_open(open_app()) as app:
        yield app


@pytest_asyncio.fixture(scope="module")
async def of_hosts() -> AsyncIterator[MemoryApp]:
    async with kept_open(open_app(settings={"TENANTRY_ALLOWED_HOSTS": "localhost,*.example"})) as app:
        yield app


async def test_pages_of_allowed_origins_may_call(with_origins: MemoryApp) -> None:
    client = with_origins.client
    asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "PUT"}
    preflight = await client.options("/api/products", headers=asked)
    assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, ORIGIN)
    answer = await client.get("/api/products", headers={**await with_origins.login(), "Origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    exposed = answer.headers["access-control-expose-headers"].split(", ")
    assert {"ETag", "X-Changes-Cursor"} <= set(exposed)
    strange = await client.get("/health/live", headers={"Origin": "https://b.example"})
    assert "access-control-allow-origin" not in strange.headers


@pytest.mark.parametrize("path", ["/api/users", "/api/products", "/nowhere"])
async def test_a_preflight_has_a_request_id_and_a_refused_one_the_envelope_of_the_path(path: str) -> None:
    async with open_app(settings={"TENANTRY_CORS_ORIGINS": ORIGIN}) as app:
        asked = {"Access-Control-Request-Method": "PUT", "X-Request-Id": "mine"}
        taken = await app.client.options(path, headers={**asked, "Origin": ORIGIN})
        assert (taken.status_code, taken.content, taken.headers["x-request-id"]) == (204, b"", "mine")
        refused = await app.client.options(path, headers={**asked, "Origin": "https://b.example"})
        assert (refused.status_code, refused.headers["content-type"]) == (400, "application/json")
        assert (refused.headers["x-request-id"], "access-control-allow-origin" in refused.headers) == ("mine", False)
        said = refused.json()
        if path == "/api/users":
            assert (said["errorCode"], said["isSuccess"]) == ("VALIDATION_ERROR", False)
        else:
            assert (said["error"]["code"], said["error"]["traceId"]) == ("BAD_REQUEST", "mine")
        assert "TENANTRY_CORS_ORIGINS" in refused.text
        # an answer of a handler has one id, and its own body
        live = await app.client.get("/health/live", headers={"Origin": "https://b.example"})
        assert (live.status_code, len(live.headers.get_list("x-request-id"))) == (200, 1)


@pytest.mark.parametrize("path", ["/.well-known/jwks.json", "/.well-known/oauth-authorization-server"])
async def test_a_shared_cache_stores_answers_separately_by_origin(with_origins: MemoryApp, path: str) -> None:
    for headers in ({}, {"Origin": ORIGIN}, {"Origin": "https://b.example"}):
        answer = await with_origins.client.get(path, headers=headers)
        assert ("public" in answer.headers["cache-control"], answer.headers["vary"]) == (True, "Origin")


async def test_without_configured_origins_no_page_may_call_the_service(plain: MemoryApp) -> None:
    answer = await plain.client.get("/health/live", headers={"Origin": ORIGIN})
    assert "access-control-allow-origin" not in answer.headers


HOSTS = (
    ("localhost", 200),
    ("LOCALHOST:8000", 200),
    ("a.example", 200),
    ("b.a.example:8443", 200),
    ("a.elsewhere", 400),
    ("example", 400),
    ("localhost.elsewhere", 400),
)


@pytest.mark.parametrize(("host", "status"), HOSTS)
async def test_other_hosts_are_refused(of_hosts: MemoryApp, host: str, status: int) -> None:
    assert (await of_hosts.client.get("/health/live", headers={"Host": host})).status_code == status


@pytest.mark.parametrize("path", ["/api/users", "/api/products", "/nowhere", "/health/live", "/docs/index.html"])
async def test_a_wrong_host_is_reported_in_the_envelope_of_the_path(of_hosts: MemoryApp, path: str) -> None:
    answer = await of_hosts.client.get(path, headers={"Host": "a.elsewhere"})
    said, request_id = answer.json(), answer.headers["X-Request-Id"]
    if path == "/api/users":
        told = (said["errorCode"], said["errorMessage"])
    else:
        told = (said["error"]["code"], said["error"]["message"])
        assert said["error"]["traceId"] == request_id
    assert (answer.status_code, told[0]) == (400, "VALIDATION_ERROR" if path == "/api/users" else "BAD_REQUEST")
    assert "'a.elsewhere'" in told[1]


async def test_without_the_setting_every_host_is_answered(plain: MemoryApp) -> None:
    assert (await plain.client.get("/health/live", headers={"Host": "a.elsewhere"})).status_code == 200


async def test_responses_are_compressed_and_exports_are_not() -> None:
    async with open_app(settings={"TENANTRY_COMPRESSION": "gzip"}) as app:
        acme = await app.create_tenant("acme")
        for number in range(20):
            await app.client.post("/api/categories", json={"name": f"Category {number}"}, headers=acme)
        page = await app.client.get("/api/categories", headers=acme)
        assert (page.headers["content-encoding"], len(page.json()["data"]["items"])) == ("gzip", 20)
        export = await app.client.get("/api/categories/export?format=csv", headers=acme)
        assert (export.status_code, export.headers.get("content-encoding")) == (200, None)
        assert (await app.client.get("/api/categories", headers={**acme, "Accept-Encoding": "identity"})).json()
