"""CORS, allowed hosts and compression by settings."""

from entrypoints.testing import open_app

ORIGIN = "https://app.example"


async def test_pages_of_allowed_origins_may_call() -> None:
    async with open_app(settings={"TENANTRY_CORS_ORIGINS": ORIGIN}) as app:
        asked = {"Origin": ORIGIN, "Access-Control-Request-Method": "PUT"}
        preflight = await app.client.options("/api/products", headers=asked)
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, ORIGIN)
        answer = await app.client.get("/api/products", headers={**await app.login(), "Origin": ORIGIN})
        assert answer.headers["access-control-allow-origin"] == ORIGIN
        assert "ETag" in answer.headers["access-control-expose-headers"]
        strange = await app.client.get("/health/live", headers={"Origin": "https://b.example"})
        assert "access-control-allow-origin" not in strange.headers


async def test_without_origins_no_page_may_call() -> None:
    async with open_app() as app:
        answer = await app.client.get("/health/live", headers={"Origin": ORIGIN})
        assert "access-control-allow-origin" not in answer.headers


async def test_other_hosts_are_refused() -> None:
    async with open_app(settings={"TENANTRY_ALLOWED_HOSTS": "localhost,*.example"}) as app:
        for host, status in (("localhost", 200), ("a.example", 200), ("a.elsewhere", 400)):
            assert (await app.client.get("/health/live", headers={"Host": host})).status_code == status


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
