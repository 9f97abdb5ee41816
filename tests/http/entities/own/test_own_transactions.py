"""Several writes of a user's own handler in one transaction: all or none, with the rules of their entities."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from litestar import Response, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from msgspec import Struct

from adapters.http.app import HttpSettings
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.scope import AuditEvent
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import prepare_memory
from tenantry import (
    ORDINARY,
    TENANT_TOKEN,
    Conflict,
    DataResponse,
    EntityData,
    NotFound,
    TenantDatabase,
    UnprocessableEntity,
    needs,
    rules,
)
from tenantry.catalogue import Category, Currency, Product, Status
from tests.http.app import SETTINGS, Json, TestApp, client_of
from tests.http.conftest import seed

OPT = rules(policy=needs("create:products"), limit=ORDINARY, takes_scope=True)


def lamp(sku: str, **more: object) -> dict[str, object]:
    return {"name": f"Lamp {sku}", "sku": sku, "price": 10, **more}


@post("/own/kits/{sku:str}", opt=OPT)
async def kit(sku: FromPath[str], database: NamedDependency[TenantDatabase]) -> Response[EntityData[Product]]:
    """A category and a product in it, or neither."""
    async with database.transaction() as tx:
        category = await tx.rows(Category).create(Category(name=f"Kit {sku}"))
        row = await tx.rows(Product).create(lamp(sku, category_id=category.id))
    return DataResponse(row)


@post("/own/lives", opt=OPT)
async def live(database: NamedDependency[TenantDatabase]) -> Json:
    """Each step sees what those before it wrote."""
    async with database.transaction() as tx:
        products = tx.rows(Product)
        row = await products.create(lamp("LIFE-1"))
        changed = await products.update(row.id, {"stock": 7}, version=row.version)
        read = await products.get(row.id)
        await products.delete(row.id)
        try:
            await products.get(row.id)
        except NotFound:
            await products.restore(row.id)
        many = await products.create_many([lamp("LIFE-2"), lamp("LIFE-3")])
        await products.delete_many([many[0].id])
        page = await products.page(sort=["sku"])
    return {
        "stocks": [changed.value.stock, read.value.stock],
        "skus": [item.value.sku for item in page.items],
        "held": await held(database, row.id),
    }


async def held(database: TenantDatabase, row_id: UUID) -> int:
    async with database.transaction() as tx:
        return (await tx.rows(Product).get(row_id)).version


@post("/own/refusals", opt=OPT)
async def refused_and_caught(database: NamedDependency[TenantDatabase]) -> Json:
    """What is refused leaves nothing behind, and the others are stored."""
    told = []
    async with database.transaction() as tx:
        products = tx.rows(Product)
        first = await products.create(lamp("KEPT-1"))
        for sku, more in (("KEPT-1", {}), ("NEVER-1", {"status": Status.LIVE})):
            try:
                await products.create(lamp(sku, **more))
            except (Conflict, UnprocessableEntity) as error:
                told.append(error.fields[0].field)
        try:
            await products.update_many({first.id: {"stock": 5}, UUID(int=1): {"stock": 5}})
        except NotFound as error:
            told.append(error.fields[0].field)
        await products.create(lamp("KEPT-2"))
    return {"told": told}


@post("/own/undone", opt=OPT)
async def undone(database: NamedDependency[TenantDatabase]) -> None:
    async with database.transaction() as tx:
        await tx.rows(Product).create(lamp("UNDONE-1"))
        raise Conflict("The handler thinks better of it.")


@post("/own/taken/{id:str}", opt=OPT)
async def take(id: FromPath[UUID], database: NamedDependency[TenantDatabase]) -> None:  # noqa: A002  # the path's name
    async with database.transaction() as tx:
        await tx.rows(Product).update(id, {"stock": 0})


@post("/own/deliveries/{id:str}", opt=OPT)
async def deliver(id: FromPath[UUID], database: NamedDependency[TenantDatabase]) -> None:  # noqa: A002  # the path's name
    """Computes the stock from the one that is stored, without a look at the version."""
    async with database.transaction() as tx:
        product = await tx.rows(Product).get(id)
        await tx.rows(Product).update(id, {"stock": product.value.stock + 1})


@post("/own/readings/{id:str}", opt=OPT)
async def read_all(id: FromPath[UUID], database: NamedDependency[TenantDatabase]) -> Json:  # noqa: A002  # the path's name
    """Rows that nothing may write are read in a transaction as well, and any without one."""
    async with database.transaction() as tx:
        (event, *_) = (await tx.rows(AuditEvent).page()).items
        action = (await tx.rows(AuditEvent).get(event.id)).value.action
    async with database.read_only() as read:
        return {"action": action, "sku": (await read.rows(Product).get(id)).value.sku}


MEETING = asyncio.Barrier(2)


@post("/own/swaps/{first:str}/{second:str}", opt=OPT)
async def swap(first: FromPath[UUID], second: FromPath[UUID], database: NamedDependency[TenantDatabase]) -> None:
    """Two of these requests in opposite directions wait for each other's rows."""
    async with database.transaction() as tx:
        await tx.rows(Product).update(first, {"stock": 1})
        await MEETING.wait()
        await tx.rows(Product).update(second, {"stock": 2})


@post("/own/euros", opt=rules(policy=TENANT_TOKEN, limit=ORDINARY))
async def euros(database: NamedDependency[TenantDatabase]) -> None:
    async with database.transaction() as tx:
        await tx.rows(Currency).create({"code": "EUR", "name": "Euro"})


KEPT: list[Any] = []


@post("/own/kept", opt=OPT)
async def keep(database: NamedDependency[TenantDatabase]) -> None:
    """Leaves with rows whose connection is another request's from then on."""
    async with database.transaction() as tx:
        KEPT[:] = [tx, tx.rows(Product), tx.records]
    async with database.read_only() as read:
        assert (await read.rows(Product).page()).total == 0
        KEPT.append(read.rows(Product))


class Stranger(Struct):
    name: str


@post("/own/strangers", opt=OPT)
async def strange(database: NamedDependency[TenantDatabase]) -> None:
    async with database.transaction() as tx:
        tx.rows(Stranger)


ROUTES = (kit, live, refused_and_caught, undone, take, deliver, read_all, swap, euros, keep, strange)


@pytest_asyncio.fixture
async def app(database: WholeDatabase, registry: Registry) -> AsyncIterator[TestApp]:
    """The service on each database in turn, with routes that have a transaction."""
    settings = read_settings({**SETTINGS, "TENANTRY_RATE_LIMITS": "off"})
    adapters = replace(memory_adapters(settings, registry), database=database, ids=database.ids)  # type: ignore[attr-defined]
    services = assemble(adapters, settings)
    await prepare_memory(services)
    app = TestApp(client_of(services, HttpSettings(routes=ROUTES)), services, adapters)
    await seed(app)
    yield app
    await app.client.aclose()


async def skus(app: TestApp, whom: str = "acme") -> list[str]:
    found = await app.call("GET", "/api/products?sort=sku", as_whom=whom)
    return [row["sku"] for row in found.json()["data"]["items"]]


async def answered(app: TestApp, path: str, **more: Any) -> Any:
    answer = await app.call("POST", path, **{"as_whom": "acme", **more})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_several_rows_are_stored_together_or_not_at_all(app: TestApp) -> None:
    made = (await answered(app, "/own/kits/KIT-1"))["data"]
    category = await app.call("GET", f"/api/categories/{made['categoryId']}", as_whom="acme")
    assert category.json()["data"]["name"] == "Kit KIT-1"
    await app.call("PATCH", f"/api/categories/{made['categoryId']}", as_whom="acme", json={"name": "Other"})
    refused = await app.call("POST", "/own/kits/KIT-1", as_whom="acme")
    assert (refused.status_code, refused.json()["error"]["details"][0]["field"]) == (409, "sku")
    names = (await app.call("GET", "/api/categories", as_whom="acme")).json()["data"]["items"]
    assert [row["name"] for row in names] == ["Other"]


async def test_each_step_sees_those_before_it(app: TestApp) -> None:
    expected = {"stocks": [7, 7], "skus": ["LIFE-1", "LIFE-3"], "held": 4}
    assert await answered(app, "/own/lives") == expected
    assert await skus(app) == ["LIFE-1", "LIFE-3"]


async def test_a_refused_write_that_is_caught_leaves_nothing_and_the_others_stay(app: TestApp) -> None:
    assert await answered(app, "/own/refusals") == {"told": ["sku", "categoryId", "items[1].id"]}
    found = (await app.call("GET", "/api/products?sort=sku", as_whom="acme")).json()["data"]["items"]
    assert [(row["sku"], row["stock"], row["version"]) for row in found] == [("KEPT-1", 0, 1), ("KEPT-2", 0, 1)]


async def test_an_error_that_leaves_the_block_undoes_all_of_it(app: TestApp) -> None:
    answer = await app.call("POST", "/own/undone", as_whom="acme")
    assert (answer.status_code, answer.json()["error"]["message"]) == (409, "The handler thinks better of it.")
    assert await skus(app) == []


async def test_the_transaction_is_one_of_the_callers_tenant(app: TestApp) -> None:
    made = (await answered(app, "/own/kits/KIT-1"))["data"]
    assert (await app.call("POST", f"/own/taken/{made['id']}", as_whom="other")).status_code == 404
    tenants = (await app.call("GET", "/api/tenants", as_whom="root in other")).json()["data"]["items"]
    acme = next(tenant["id"] for tenant in tenants if tenant["identifier"] == "acme")
    scope = {"X-Tenant-Scope": acme}
    await answered(app, f"/own/taken/{made['id']}", as_whom="root in other", headers=scope)
    assert (await app.call("POST", "/own/euros", as_whom="acme")).status_code == 403
    everywhere = await app.call("POST", "/own/kits/KIT-2", as_whom="root in acme", headers={"X-Tenant-Scope": "all"})
    assert everywhere.status_code == 400


async def test_what_was_taken_from_a_transaction_ends_with_it(app: TestApp) -> None:
    await app.call("POST", "/own/kept", as_whom="acme")
    transaction, rows, records, read = KEPT
    for late in (rows.page, read.page, lambda: rows.create(lamp("LATE-1"))):
        with pytest.raises(RuntimeError, match="has ended"):
            await late()
    with pytest.raises(RuntimeError, match="has ended"):
        _ = transaction.records
    with pytest.raises(RuntimeError, match="has ended"):
        await records.current(rows.model, [])
    assert await skus(app) == []


async def test_a_repeated_request_is_answered_again(app: TestApp) -> None:
    key = {"Idempotency-Key": "one"}
    first, again = [await app.call("POST", "/own/kits/KIT-1", as_whom="acme", headers=key) for _ in range(2)]
    assert (first.status_code, again.status_code) == (201, 201), again.text
    assert first.json()["data"] == again.json()["data"]
    assert again.headers["Idempotent-Replayed"] == "true"


async def test_a_struct_that_is_not_an_entity_is_an_error_of_the_handler(app: TestApp) -> None:
    assert (await app.call("POST", "/own/strangers", as_whom="acme")).status_code == 500


async def test_requests_that_compute_from_a_row_wait_for_each_other(app: TestApp) -> None:
    made = (await answered(app, "/own/kits/KIT-1"))["data"]
    await asyncio.gather(*(answered(app, f"/own/deliveries/{made['id']}") for _ in range(8)))
    stored = (await app.call("GET", f"/api/products/{made['id']}", as_whom="acme")).json()["data"]
    assert (stored["stock"], stored["version"]) == (8, 9)


async def test_a_row_that_is_only_read_is_not_locked(app: TestApp) -> None:
    made = (await answered(app, "/own/kits/KIT-1"))["data"]
    read = await answered(app, f"/own/readings/{made['id']}")
    assert read["action"]
    assert read["sku"] == "KIT-1"


@pytest.mark.parametrize("database", ["postgres"], indirect=True)  # in memory transactions run one after the other
async def test_one_of_two_deadlocked_transactions_is_rolled_back_completely(app: TestApp) -> None:
    ids = [(await answered(app, f"/own/kits/KIT-{number}"))["data"]["id"] for number in (1, 2)]
    paths = [f"/own/swaps/{ids[0]}/{ids[1]}", f"/own/swaps/{ids[1]}/{ids[0]}"]
    answers = await asyncio.gather(*(app.call("POST", path, as_whom="acme") for path in paths))
    won, lost = sorted(answers, key=lambda answer: answer.status_code)
    assert (won.status_code, lost.status_code, lost.json()["error"]["code"]) == (201, 503, "SERVICE_UNAVAILABLE")
    found = (await app.call("GET", "/api/products?sort=sku", as_whom="acme")).json()["data"]["items"]
    assert [row["version"] for row in found] == [2, 2]
    assert [row["stock"] for row in found] == ([1, 2] if won is answers[0] else [2, 1])
