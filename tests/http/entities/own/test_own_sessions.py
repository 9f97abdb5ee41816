"""``session`` in handlers of a user's own: queries on PostgreSQL that show one tenant's rows, by HTTP."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID

import pytest
import pytest_asyncio
import sqlalchemy as sa
from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.types import ControllerRouterHandler
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm.exc import StaleDataError

from adapters.http.app import HttpSettings
from adapters.postgres.database import PostgresDatabase
from domain.entities.declaration import Registry
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.entities import load_routes
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import open_app, prepare_memory
from tenantry import ORDINARY, NotFound, needs, rules
from tenantry.catalogue import Product
from tenantry.own_queries import orm_class, repository
from tests.documentation.documents import copied
from tests.http.app import SETTINGS, TestApp, client_of
from tests.http.conftest import seed

OPT = rules(policy=needs("read:products"), limit=ORDINARY, takes_scope=True)


@get("/own/names", opt=OPT)
async def names(session: NamedDependency[AsyncSession]) -> list[str]:
    return list(await session.scalars(sa.select(orm_class(Product, session).name).order_by("name")))


@get("/own/raw", opt=OPT)
async def raw(session: NamedDependency[AsyncSession]) -> list[str]:
    return list(await session.scalars(sa.text("SELECT name FROM products ORDER BY name")))


@get("/own/products/{id:str}", opt=OPT)
async def by_id(id: FromPath[UUID], session: NamedDependency[AsyncSession]) -> str:  # noqa: A002  # the path's name
    return str((await repository(Product, session).get(id)).name)


@get("/own/failing/{what:str}", opt=OPT)
async def failing(what: FromPath[str], session: NamedDependency[AsyncSession]) -> None:
    await session.scalar(sa.text("SELECT 1"))
    match what:
        case "stale":
            raise StaleDataError
        case "absent":
            raise NotFound("There is no such thing.")
        case "wrong":
            await session.execute(sa.text("SELECT no_such_column FROM products"))


@post("/own/products/{sku:str}", opt=OPT)
async def add(sku: FromPath[str], session: NamedDependency[AsyncSession]) -> None:
    product = orm_class(Product, session)
    session.add(product(name=sku, sku=sku, price=1, stock=0, status="live"))
    await session.commit()


@post("/own/forgotten", opt=OPT)
async def forgotten(session: NamedDependency[AsyncSession]) -> None:
    await session.execute(sa.text("UPDATE products SET name = 'changed'"))


ROUTES = (names, raw, by_id, failing, add, forgotten)


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> tuple[ControllerRouterHandler, ...]:
    """The route of docs/own-queries.md."""
    return load_routes((copied("own-queries.md", "stock_value.py", tmp_path_factory.mktemp("documented")),))


@pytest_asyncio.fixture
async def app(
    postgres: PostgresDatabase, registry: Registry, documented: tuple[ControllerRouterHandler, ...]
) -> AsyncIterator[TestApp]:
    """The service on PostgreSQL, with routes that have a session."""
    settings = read_settings({**SETTINGS, "TENANTRY_RATE_LIMITS": "off"})
    adapters = replace(
        memory_adapters(settings, registry), database=postgres, ids=postgres.ids, own_queries=postgres.own_queries
    )
    services = assemble(adapters, settings)
    await prepare_memory(services)
    app = TestApp(client_of(services, HttpSettings(routes=(*ROUTES, *documented))), services, adapters)
    await seed(app)
    for tenant, price in (("acme", 10), ("other", 7)):
        product = {"name": f"Lamp of {tenant}", "sku": "LAMP-1", "price": price, "stock": 3}
        assert (await app.call("POST", "/api/products", as_whom=tenant, json=product)).status_code == 201
    yield app
    await app.client.aclose()


@pytest.mark.parametrize("path", ["/own/names", "/own/raw"])
async def test_a_session_shows_the_rows_of_the_callers_tenant(app: TestApp, path: str) -> None:
    for tenant in ("acme", "other"):
        assert (await app.call("GET", path, as_whom=tenant)).json() == [f"Lamp of {tenant}"]
    assert (await app.call("GET", path)).status_code == 401


async def test_a_super_admin_names_the_one_tenant_that_a_session_shows(app: TestApp) -> None:
    (acme,) = [
        tenant["id"]
        for tenant in (await app.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
        if tenant["identifier"] == "acme"
    ]
    named = await app.call("GET", "/own/names", as_whom="root", headers={"X-Tenant-Scope": acme})
    assert named.json() == ["Lamp of acme"]
    every = await app.call("GET", "/own/names", as_whom="root", headers={"X-Tenant-Scope": "all"})
    assert (every.status_code, every.json()["error"]["code"]) == (400, "BAD_REQUEST")
    assert every.json()["error"]["message"] == "A session shows one tenant: name it in X-Tenant-Scope."


async def test_errors_of_a_session_are_answered_as_elsewhere(app: TestApp) -> None:
    page = (await app.call("GET", "/api/products", as_whom="other")).json()["data"]["items"]
    for method, path, status, code in (
        ("GET", f"/own/products/{page[0]['id']}", 404, "NOT_FOUND"),
        ("POST", "/own/products/LAMP-1", 409, "CONFLICT"),
        ("GET", "/own/failing/stale", 503, "SERVICE_UNAVAILABLE"),
        ("GET", "/own/failing/absent", 404, "NOT_FOUND"),
        ("GET", "/own/failing/wrong", 500, "INTERNAL_ERROR"),
    ):
        answer = await app.call(method, path, as_whom="acme")
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
        assert answer.json()["error"]["traceId"] == answer.headers["X-Request-Id"]
        assert "no_such_column" not in answer.text
    # each of them gave its connection back: there are fewer than errors here
    for _ in range(5):
        assert (await app.call("GET", "/own/failing/stale", as_whom="acme")).status_code == 503


async def test_uncommitted_changes_of_a_session_are_not_stored(app: TestApp) -> None:
    assert (await app.call("POST", "/own/forgotten", as_whom="acme")).status_code == 201
    assert (await app.call("GET", "/own/names", as_whom="acme")).json() == ["Lamp of acme"]
    assert (await app.call("POST", "/own/products/LAMP-2", as_whom="acme")).status_code == 201
    assert (await app.call("GET", "/own/names", as_whom="acme")).json() == ["LAMP-2", "Lamp of acme"]


async def test_the_route_of_the_document(app: TestApp) -> None:
    answer = await app.call("GET", "/api/stock/value", as_whom="acme")
    assert (answer.status_code, answer.json()["data"]) == (200, {"value": "30.00", "products": 1})
    described = (await app.call("GET", "/docs/v1/docs.json")).json()["paths"]["/api/stock/value"]["get"]
    assert described["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["data"] == {
        "$ref": "#/components/schemas/StockValue"
    }


async def test_a_session_on_the_memory_database_is_refused_with_a_message() -> None:
    async with open_app(settings={"TENANTRY_ENTITIES": "tenantry.catalogue"}, routes=[names]) as app:
        acme = await app.create_tenant("acme")
        refused = await app.client.get("/own/names", headers=acme)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert "PostgreSQL" in refused.json()["error"]["message"]
        assert (await app.client.get("/api/products", headers=acme)).status_code == 200
