"""`GET /api/entities`: what a caller may read and do, and nothing of what they may not."""

from typing import Any

import httpx
import pytest
from litestar.config.compression import CompressionConfig

from adapters.http.app import HttpSettings, build_app
from domain.parts.composition import AREAS
from entrypoints.testing.app import client_of
from tests.http.app import TestApp
from tests.http.served import served_by

Json = dict[str, Any]


async def described(app: TestApp, whom: str) -> Json:
    answer = await app.call("GET", "/api/entities", as_whom=whom)
    assert answer.status_code == 200, answer.text
    data: Json = answer.json()["data"]
    return data


def by_plural(data: Json) -> Json:
    return {entity["plural"]: entity for entity in data["entities"]}


def by_name(entity: Json) -> Json:
    return {field["name"]: field for field in entity["fields"]}


@pytest.mark.promise("GET /api/entities: what the caller may read and do, and nothing beyond")
async def test_an_entity_is_described_whole(app: TestApp) -> None:
    product = by_plural(await described(app, "acme"))["products"]
    fields = by_name(product)
    assert {name: product[name] for name in product if name != "fields"} == {
        "plural": "products",
        "name": "Product",
        "title": "Products",
        "display": "name",
        "columns": ["name", "sku", "categoryId", "price", "stock", "status", "releasedAt", "photoId"],
        "may": {
            "create": True,
            "read": True,
            "update": True,
            "delete": True,
            "purge": True,
            "import": True,
            "export": True,
        },
        "own": [],
        "mine": [],
        "has": {
            "softDelete": True,
            "history": True,
            "shares": False,
            "changes": False,
            "search": ["name", "sku", "description"],
            "tenantOwned": True,
        },
        "sort": "createdAt:desc",
        "limits": {"pageSize": 100, "batch": 1000},
        "relations": [
            {"name": "category", "target": "categories", "by": "categoryId", "many": False},
            {"name": "reviews", "target": "reviews", "by": "productId", "many": True},
        ],
        "unique": [["sku"]],
    }
    assert fields["price"] == {
        "name": "price",
        "title": "Price",
        "kind": "decimal",
        "required": True,
        "nullable": False,
        "default": None,
        "writable": True,
        "rules": {"precision": 12, "scale": 2, "minimum": 0},
        "operators": ["eq", "ne", "in", "isNull", "gt", "gte", "lt", "lte"],
        "sortable": True,
        "indexed": False,
        "help": None,
        "widget": None,
    }
    category = fields["categoryId"]
    assert {
        name: category[name] for name in ("kind", "target", "relation", "targetDisplay", "onDelete", "indexed")
    } == {
        "kind": "reference",
        "target": "categories",
        "relation": "category",
        "targetDisplay": "name",
        "onDelete": "restrict",
        "indexed": True,
    }
    assert (fields["status"]["default"], fields["status"]["rules"]) == (
        "draft",
        {"choices": ["draft", "live", "retired"]},
    )
    assert fields["status"]["choices"] == [
        {"value": "draft", "label": "Draft", "color": "blue"},
        {"value": "live", "label": "For sale", "color": "green"},
        {"value": "retired", "label": "Retired", "color": "grey"},
    ]
    assert (fields["sku"]["title"], fields["description"]["widget"]) == ("SKU", "multiline")
    assert [fields[name]["writable"] for name in ("id", "createdAt", "version")] == [False] * 3


@pytest.mark.promise("GET /api/entities: what the caller may read and do, and nothing beyond")
@pytest.mark.promise(
    "security, console: Descriptions of entities show nothing of entities and fields that the caller may not read"
)
async def test_the_description_contains_only_what_the_caller_may_read_and_do(app: TestApp) -> None:
    data = await described(app, "reader")
    assert by_plural(data).keys() == {"products", "members"}
    product = by_plural(data)["products"]
    assert [name for name, allowed in product["may"].items() if allowed] == ["read", "export"]
    assert product["relations"] == []
    assert by_name(product)["categoryId"]["targetDisplay"] is None
    assert data["areas"] == ["members"]


@pytest.mark.promise("GET /api/entities: what the caller may read and do, and nothing beyond")
async def test_rows_that_all_tenants_share_are_written_by_super_admins(app: TestApp) -> None:
    admin, root = by_plural(await described(app, "acme")), by_plural(await described(app, "root"))
    assert (admin["currencies"]["may"]["create"], root["currencies"]["may"]["create"]) == (False, True)
    assert (root["currencies"]["may"]["purge"], root["audit-events"]["may"]["create"]) == (False, False)


@pytest.mark.promise("GET /api/entities: what the caller may read and do, and nothing beyond")
@pytest.mark.promise(
    "security, console: Descriptions of entities show nothing of entities and fields that the caller may not read"
)
async def test_a_guarded_field_is_nowhere_in_the_description(library: TestApp) -> None:
    await library.make_role("acme", "Librarian", ["read:volumes", "update:volumes"])
    await library.make_user("acme", "librarian@acme.example", ["Librarian"])
    await library.login("librarian", "librarian@acme.example")
    answer = await library.call("GET", "/api/entities", as_whom="librarian")
    assert '"code"' not in answer.text
    (volume,) = answer.json()["data"]["entities"]
    assert (volume["unique"], volume["display"]) == ([], "title")
    assert by_name(volume)["cost"]["writable"] is False
    whole = by_plural(await described(library, "acme"))["volumes"]
    assert (whole["unique"], whole["display"]) == ([["code"]], "code")
    assert by_name(whole)["cost"]["writable"] is True


async def test_areas_are_those_with_lists_that_the_caller_may_read(app: TestApp) -> None:
    policies = [endpoint.policy for endpoint in served_by(app.services) if endpoint.method == "GET"]
    lists = {(policy.permission, policy.super_admin) for policy in policies}
    assert {(area.permission, area.super_admin) for area in AREAS} <= lists
    assert (await described(app, "root"))["areas"] == [area.name for area in AREAS]
    assert (await described(app, "acme"))["areas"] == [area.name for area in AREAS if not area.super_admin]


async def test_the_description_of_entities_changes_only_with_rights_and_declarations(app: TestApp) -> None:
    first = await app.call("GET", "/api/entities", as_whom="acme")
    known = {"If-None-Match": first.headers["ETag"]}
    again = await app.call("GET", "/api/entities", as_whom="acme", headers=known)
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", first.headers["ETag"])
    assert (await app.call("GET", "/api/entities", as_whom="other", headers=known)).status_code == 304
    assert (await app.call("GET", "/api/entities", as_whom="reader", headers=known)).status_code == 200
    assert first.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize(("accepted", "coding"), [("gzip, br", "gzip"), ("identity", None), ("gzip;q=0", None)])
async def test_the_description_of_entities_is_compressed_when_accepted(
    app: TestApp, accepted: str, coding: str | None
) -> None:
    headers = {"Authorization": f"Bearer {app.tokens['acme']}", "Accept-Encoding": accepted}
    request = app.client.build_request("GET", "/api/entities", headers=headers)
    answer = await app.client.send(request, stream=True)
    assert answer.headers.get("Content-Encoding") == coding
    assert "Accept-Encoding" in answer.headers["Vary"]
    await answer.aread()
    assert answer.json()["success"] is True


async def test_an_application_that_compresses_does_it_once(app: TestApp) -> None:
    compressing = build_app(app.services, HttpSettings(compression=CompressionConfig("gzip")))
    async with client_of(compressing) as client:
        headers = {"Authorization": f"Bearer {app.tokens['acme']}", "Accept-Encoding": "gzip"}
        answer = await client.get("/api/entities", headers=headers)
    assert (answer.headers["Content-Encoding"], answer.json()["success"]) == ("gzip", True)


@pytest.mark.parametrize(("whom", "status"), [(None, 401), ("global", 403)])
async def test_it_needs_a_tenant_token(app: TestApp, whom: str | None, status: int) -> None:
    user = await app.make_user("acme", "both@acme.example", [])
    tenants = (await app.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    other = next(tenant["id"] for tenant in tenants if tenant["identifier"] == "other")
    await app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json={"userId": user, "roles": []})
    await app.login("global", "both@acme.example")
    assert (await app.call("GET", "/api/entities", as_whom=whom)).status_code == status


async def test_the_description_of_entities_accepts_no_parameters(app: TestApp) -> None:
    answer: httpx.Response = await app.call("GET", "/api/entities?page=2", as_whom="acme")
    assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (400, "page")
