"""``POST /api/{entities}/batch/upsert``: permissions, bodies, conflicts, and bounds."""

from typing import Any

import httpx
import pytest
from msgspec import Struct

from domain.entities.markers import entity, unique
from tests.http.app import Json, TestApp, open_test_app
from tests.http.conftest import seed

PATH = "/api/products/batch/upsert"


@entity("parcels", unique=[unique("number"), unique("code")])
class Parcel(Struct, rename="camel", kw_only=True):
    number: str
    code: str | None = None


def lamp(sku: str, **more: object) -> Json:
    return {"name": "Lamp", "sku": sku, "price": 1, **more}


async def upsert(app: TestApp, *items: Json, key: object = "sku", whom: str = "acme", **more: Any) -> httpx.Response:
    return await app.call("POST", PATH, as_whom=whom, json={"key": key, "items": list(items)}, **more)


async def refusal(app: TestApp, *items: Json, key: object = "sku", whom: str = "acme") -> tuple[int, list[str]]:
    answer = await upsert(app, *items, key=key, whom=whom)
    return answer.status_code, [detail["field"] for detail in answer.json()["error"].get("details", [])]


@pytest.mark.promise("POST /api/{entities}/batch/upsert: rows with the key change, others are created, in order")
async def test_rows_with_the_key_change_and_others_are_created(app: TestApp) -> None:
    await upsert(app, lamp("LAMP-1", stock=5))
    data = (await upsert(app, lamp("LAMP-2"), {"sku": "LAMP-1", "price": 2})).json()["data"]
    assert (data["created"], data["updated"]) == (1, 1)
    assert [(row["sku"], row["price"], row["stock"]) for row in data["items"]] == [("LAMP-2", 1, 0), ("LAMP-1", 2, 5)]


@pytest.mark.promise("POST /api/{entities}/batch/upsert: needs create and update, before the body is read")
async def test_both_permissions_are_needed(app: TestApp) -> None:
    for held in ("create", "update"):
        await app.make_role("acme", held, [f"{held}:products", "read:products"])
        await app.make_user("acme", f"{held}@acme.example", [held])
        await app.login(held, f"{held}@acme.example")
        assert (await app.call("POST", PATH, as_whom=held, json={"x": 1})).status_code == 403
        assert (await upsert(app, lamp("LAMP-1"), whom=held)).status_code == 403


@pytest.mark.promise("POST /api/{entities}/batch/upsert: two items with one key, and unknown keys, are refused")
async def test_invalid_bodies_are_refused(app: TestApp) -> None:
    assert await refusal(app, lamp("LAMP-1"), lamp("LAMP-1")) == (400, ["items[1].sku"])
    for key in ("name", "id", "SKU", 1, None, ["sku"]):
        assert await refusal(app, lamp("LAMP-1"), key=key) == (400, ["key"])


async def test_invalid_items_are_refused(app: TestApp) -> None:
    assert await refusal(app) == (400, ["items"])
    assert await refusal(app, *(lamp(f"L-{n}") for n in range(1_001))) == (400, ["items"])
    assert await refusal(app, {"sku": "LAMP-1"}, {"name": 1}) == (400, ["items[1].name"])
    assert await refusal(app, {"sku": "LAMP-1"}) == (400, ["items[0].name", "items[0].price"])
    body = {"key": "sku", "items": [lamp("LAMP-1")], "x": 1}
    assert (await app.call("POST", PATH, as_whom="acme", json=body)).status_code == 400


@pytest.mark.promise("POST /api/{entities}/batch/upsert: a conflict on another unique value names the item")
async def test_a_conflict_on_another_unique_value_names_the_item() -> None:
    app = await open_test_app(entities=[Parcel])
    await seed(app)
    path = "/api/parcels/batch/upsert"
    first = {"key": "number", "items": [{"number": "1", "code": "A"}, {"number": "2", "code": "B"}]}
    assert (await app.call("POST", path, as_whom="acme", json=first)).json()["data"]["created"] == 2
    for items, fields in (
        ([{"number": "3", "code": "A"}], ["items[0].code"]),
        (
            [{"number": "1"}, {"number": "3", "code": "B"}, {"number": "4", "code": "B"}],
            ["items[1].code", "items[2].code"],
        ),
        ([{"number": "3"}, {"number": "1", "code": "B"}], ["items[1].code"]),
        ([{"number": "3", "code": "A"}, {"number": "1", "code": "B"}], ["items[0].code", "items[1].code"]),
    ):
        answer = await app.call("POST", path, as_whom="acme", json={"key": "number", "items": items})
        assert answer.status_code == 409, answer.text
        assert [detail["field"] for detail in answer.json()["error"]["details"]] == fields
    swapped = {"key": "number", "items": [{"number": "1", "code": "B"}, {"number": "2", "code": "A"}]}
    assert (await app.call("POST", path, as_whom="acme", json=swapped)).json()["data"]["updated"] == 2
    moved = {"key": "number", "items": [{"number": "9", "code": "B"}, {"number": "1", "code": "C"}]}
    assert (await app.call("POST", path, as_whom="acme", json=moved)).json()["data"]["created"] == 1
    await app.client.aclose()


async def test_entities_without_a_unique_field_have_no_upsert(app: TestApp) -> None:
    answer = await app.call("POST", "/api/reviews/batch/upsert", as_whom="acme", json={"key": "x", "items": []})
    assert answer.status_code in (404, 405)


async def test_a_repeated_request_gets_the_first_answer(app: TestApp) -> None:
    key = {"Idempotency-Key": "k"}
    first, again = [await upsert(app, lamp("LAMP-1"), headers=key) for _ in range(2)]
    assert first.json()["data"] == again.json()["data"]
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (await upsert(app, lamp("LAMP-2"), headers=key)).status_code == 422


async def test_an_upsert_may_have_1000_items_and_eight_mebibytes(app: TestApp) -> None:
    items = [lamp(f"L-{n}", description="x" * 7_000) for n in range(1_000)]
    for counts in ((1_000, 0), (0, 1_000)):
        data = (await upsert(app, *items)).json()["data"]
        assert (data["created"], data["updated"]) == counts
        assert [row["sku"] for row in data["items"]] == [item["sku"] for item in items]
    large = await upsert(app, *(lamp(f"L-{n}", description="x" * 10_000) for n in range(900)))
    assert large.status_code == 413
