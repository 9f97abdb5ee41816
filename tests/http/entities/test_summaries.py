"""GET /api/{entities}/summary: its answer, rights, hidden fields, limit and time zone."""

import json
from typing import Any

import pytest
import pytest_asyncio

from tests.http.app import Json, TestApp

SUMMARY = "/api/products/summary"


async def summarize(app: TestApp, query: str, whom: str = "acme", path: str = SUMMARY) -> Json:
    answer = await app.call("GET", f"{path}?{query}", as_whom=whom)
    assert answer.status_code == 200, answer.text
    data: Json = json.loads(answer.text, parse_float=str)["data"]
    return data


async def refused(app: TestApp, query: str, whom: str = "acme", path: str = SUMMARY) -> tuple[int, list[Any]]:
    answer = await app.call("GET", f"{path}?{query}", as_whom=whom)
    return answer.status_code, answer.json()["error"].get("details", [])


@pytest_asyncio.fixture
async def shop(app: TestApp) -> TestApp:
    category = (await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Lights"})).json()["data"]["id"]
    for number, price in enumerate(("0.10", "0.20", "100")):
        body = {"name": f"P{number}", "sku": f"SKU-{number}", "price": price, "releasedAt": "2026-10-31T23:30:00Z"}
        more = {"categoryId": category} if number < 2 else {}
        assert (await app.call("POST", "/api/products", as_whom="acme", json=body | more)).status_code == 201
    return app


@pytest.mark.promise("GET /api/{entities}/summary: groups with their measures, as a list filters rows")
async def test_a_summary_has_groups_with_exact_numbers(shop: TestApp) -> None:
    data = await summarize(shop, "group=category.name,releasedAt:month&measures=count,sum:price,avg:price,distinct:id")
    assert data == {
        "groups": [
            {
                "key": {"category.name": "Lights", "releasedAt": "2026-10-01"},
                "count": 2,
                "sum": {"price": "0.30"},
                "avg": {"price": "0.150000"},
                "distinct": {"id": 2},
            },
            {
                "key": {"category.name": None, "releasedAt": "2026-10-01"},
                "count": 1,
                "sum": {"price": "100.00"},
                "avg": {"price": "100.000000"},
                "distinct": {"id": 1},
            },
        ],
        "truncated": False,
        "timeZone": "UTC",
    }


async def test_the_default_is_a_count_of_all_rows_that_match(shop: TestApp) -> None:
    assert (await summarize(shop, "minPrice=0.2"))["groups"] == [{"key": {}, "count": 2}]
    await shop.make_tenant("globex")
    assert (await summarize(shop, "", whom="root in globex"))["groups"] == [{"key": {}, "count": 0}]
    first = await summarize(shop, "group=name&limit=2&sort=name:desc&measures=max:updatedAt,min:stock")
    assert first["truncated"]
    assert [group["key"]["name"] for group in first["groups"]] == ["P2", "P1"]
    assert first["groups"][0]["max"]["updatedAt"].endswith("Z")
    assert first["groups"][0]["min"] == {"stock": 0}


@pytest.mark.promise("GET /api/{entities}/summary: days and longer periods are those of the tenant's time zone")
async def test_the_tenants_time_zone_decides_the_month(shop: TestApp) -> None:
    change = {"timezone": "Europe/Berlin"}
    assert (
        await shop.call("PUT", "/api/tenants/current/settings", as_whom="root in acme", json=change)
    ).status_code == 200
    data = await summarize(shop, "group=releasedAt:month")
    assert (data["timeZone"], data["groups"]) == (
        "Europe/Berlin",
        [{"key": {"releasedAt": "2026-11-01"}, "count": 3}],
    )


@pytest.mark.promise("GET /api/{entities}/summary: a hidden field and related entities without permission stay hidden")
async def test_hidden_fields_and_unreadable_relations_are_refused(library: TestApp) -> None:
    await library.make_role("acme", "clerk", ["read:volumes", "create:volumes"])
    await library.make_user("acme", "clerk@acme.example", ["clerk"])
    await library.login("clerk", "clerk@acme.example")
    path = "/api/volumes/summary"
    body = {"title": "T", "code": "c-1", "cost": 5}
    assert (await library.call("POST", "/api/volumes", as_whom="acme", json=body)).status_code == 201
    assert (await summarize(library, "group=code", path=path))["groups"] == [{"key": {"code": "c-1"}, "count": 1}]
    for query, field in (("group=code", "group"), ("measures=distinct:code", "measures"), ("code=c-1", "code")):
        hidden = await refused(library, query, "clerk", path)
        unknown = await refused(library, query.replace("code", "cxde"), "clerk", path)
        assert hidden[0] == unknown[0] == 400
        assert [each["field"].replace("cxde", "code") for each in (*hidden[1], *unknown[1])] == [field, field]
        assert hidden[1][0]["message"].replace("code", "cxde").partition(";")[0] in unknown[1][0]["message"]
    assert (await refused(library, "group=shelf.name", "clerk", path))[0] == 403
    assert (await refused(library, "measures=distinct:shelf.name", "clerk", path))[0] == 403
    assert (await refused(library, "includeDeleted=true", "clerk", path))[0] == 403


@pytest.mark.promise("GET /api/{entities}/summary: 60 requests a minute, counted separately from the list")
async def test_the_summary_has_its_own_limit(shop: TestApp) -> None:
    answer = await shop.call("GET", SUMMARY, as_whom="acme")
    assert answer.headers["X-RateLimit-Limit"] == "60"


async def test_another_method_than_get_is_not_allowed(shop: TestApp) -> None:
    for method in ("PUT", "DELETE", "POST"):
        assert (await shop.call(method, SUMMARY, as_whom="acme", json={})).status_code == 405


@pytest.mark.promise("entities, contract: an OpenAPI document of all entity endpoints, and a page for it")
async def test_the_document_describes_fields_that_can_be_grouped_and_measured(app: TestApp) -> None:
    schema = (await app.call("GET", "/docs/v1/docs.json")).json()["components"]["schemas"]["ProductSummaryData"]
    group = schema["properties"]["groups"]["items"]["properties"]
    assert group["key"]["properties"]["createdAt"] == {"type": ["string", "null"], "format": "date"}
    assert group["sum"]["properties"].keys() == {"price", "stock", "version"}
    assert group["max"]["properties"]["createdAt"] == {"type": ["string", "null"], "format": "date-time"}
    assert group["distinct"]["additionalProperties"] == {"type": "integer", "minimum": 0}
