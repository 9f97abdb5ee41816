"""Many rows at once: all or none, each failing item named, the answer in the order of the request.

Requests that come twice under one key.
"""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.http.app import Json, TestApp

UNKNOWN = "01900000-0000-7000-8000-000000000000"
BATCH = "/api/products/batch"


def lamp(n: int, **more: object) -> Json:
    return {"name": "Lamp", "sku": f"LAMP-{n}", "price": 19.99, **more}


async def made(app: TestApp, count: int = 3) -> list[str]:
    answer = await app.call("POST", BATCH, as_whom="acme", json={"items": [lamp(n) for n in range(count)]})
    assert answer.status_code == 200, answer.text
    return [item["id"] for item in answer.json()["data"]["items"]]


async def refusal(app: TestApp, method: str, body: object, path: str = BATCH, whom: str = "acme") -> tuple[Any, ...]:
    answer = await app.call(method, path, as_whom=whom, json=body)
    error = answer.json()["error"]
    return answer.status_code, error["code"], [detail["field"] for detail in error.get("details", ())]


async def count(app: TestApp) -> int:
    total: int = (await app.call("GET", "/api/products", as_whom="acme")).json()["data"]["totalCount"]
    return total


@pytest.mark.promise("POST /api/{entities}/batch")
async def test_created_ones_come_back_in_order(app: TestApp) -> None:
    answer = await app.call("POST", BATCH, as_whom="acme", json={"items": [lamp(3), lamp(1), lamp(2)]})
    assert answer.status_code == 200
    data = answer.json()["data"]
    assert data["created"] == 3
    assert [item["sku"] for item in data["items"]] == ["LAMP-3", "LAMP-1", "LAMP-2"]
    assert data["items"][0]["price"] == 19.99
    assert await count(app) == 3


@pytest.mark.promise("PUT /api/{entities}/batch")
async def test_changed_ones_come_back_in_order(app: TestApp) -> None:
    first, two, _ = await made(app)
    items = [{"id": two, "stock": 2}, {"id": first, "name": "One", "version": 1, "createdAt": "never"}]
    answer = await app.call("PUT", BATCH, as_whom="acme", json={"items": items})
    data = answer.json()["data"]
    assert (answer.status_code, data["updated"]) == (200, 2)
    assert [(row["id"], row["name"], row["stock"], row["version"]) for row in data["items"]] == [
        (two, "Lamp", 2, 2),
        (first, "One", 0, 2),
    ]


@pytest.mark.promise("POST /api/{entities}/batch/delete: the ids of the deleted rows")
@pytest.mark.promise("DELETE /api/{entities}/batch")
@pytest.mark.parametrize(("method", "path"), [("DELETE", BATCH), ("POST", f"{BATCH}/delete")])
async def test_deleted_ones_are_named_once(app: TestApp, method: str, path: str) -> None:
    first, two, _ = await made(app)
    answer = await app.call(method, path, as_whom="acme", json={"ids": [two, first, two]})
    assert (answer.status_code, answer.json()["data"]) == (200, {"deleted": 2, "ids": [two, first]})
    assert await count(app) == 1


@pytest.mark.parametrize(("method", "path"), [("PUT", BATCH), ("DELETE", BATCH), ("POST", f"{BATCH}/delete")])
async def test_a_version_of_all_rows_is_refused(app: TestApp, method: str, path: str) -> None:
    (first,) = await made(app, 1)
    body = {"items": [{"id": first, "stock": 2}]} if method == "PUT" else {"ids": [first]}
    for tag in ('"1"', '"7"', "W/1", '"1", "2"'):
        answer = await app.call(method, path, as_whom="acme", json=body, headers={"If-Match": tag})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")
        assert "If-Match" in answer.json()["error"]["message"]
    assert await count(app) == 1
    # any version will do, as it does without the header
    answer = await app.call(method, path, as_whom="acme", json=body, headers={"If-Match": "*"})
    assert answer.status_code == 200


@pytest.mark.promise("entities, details: a batch is all or nothing, each failing item named")
async def test_all_failing_items_are_named_and_nothing_is_stored(app: TestApp) -> None:
    wrong = [lamp(1), lamp(2, price=-1, nam="x"), lamp(3), {"name": "", "sku": "no", "price": 1}]
    expected = ["items[1].price", "items[1].nam", "items[3].name", "items[3].sku"]
    status, code, fields = await refusal(app, "POST", {"items": wrong})
    assert (status, code, sorted(fields)) == (400, "VALIDATION_ERROR", sorted(expected))
    assert await count(app) == 0


@pytest.mark.promise("entities, details: a batch is all or nothing, each failing item named")
@pytest.mark.parametrize(
    ("method", "body", "expected"),
    [
        ("POST", {"items": []}, (400, "VALIDATION_ERROR", ["items"])),
        ("POST", {}, (400, "VALIDATION_ERROR", ["items"])),
        ("POST", {"items": {}}, (400, "VALIDATION_ERROR", ["items"])),
        ("POST", {"items": [lamp(n) for n in range(1001)]}, (400, "VALIDATION_ERROR", ["items"])),
        ("POST", {"items": [1, lamp(1), None]}, (400, "VALIDATION_ERROR", ["items[0]", "items[2]"])),
        ("POST", {"itmes": []}, (400, "VALIDATION_ERROR", ["itmes", "items"])),
        (
            "POST",
            {"items": [lamp(1, nam=1, price=-1), 5], "all": 1},
            (400, "VALIDATION_ERROR", ["all", "items[1]", "items[0].nam", "items[0].price"]),
        ),
        (
            "PUT",
            {"items": [{"id": 1, "nam": 1, "price": -1}, 5], "all": 1},
            (400, "VALIDATION_ERROR", ["all", "items[1]", "items[0].id", "items[0].nam", "items[0].price"]),
        ),
        ("DELETE", {"ids": [1], "all": 1}, (400, "VALIDATION_ERROR", ["all", "ids[0]"])),
        ("POST", [], (400, "BAD_REQUEST", [])),
        ("POST", {"items": [lamp(1, categoryId=UNKNOWN)]}, (400, "VALIDATION_ERROR", ["items[0].categoryId"])),
        ("POST", {"items": [lamp(1, status="live")]}, (422, "UNPROCESSABLE_ENTITY", ["items[0].categoryId"])),
        ("PUT", {"items": []}, (400, "VALIDATION_ERROR", ["items"])),
        ("PUT", {"items": [{"stock": 1}]}, (400, "VALIDATION_ERROR", ["items[0].id"])),
        ("PUT", {"items": [{"id": 1}]}, (400, "VALIDATION_ERROR", ["items[0].id"])),
        ("PUT", {"items": [{"id": UNKNOWN}]}, (404, "NOT_FOUND", ["items[0].id"])),
        ("PUT", {"items": [{"id": "x"}, {"id": "y"}]}, (404, "NOT_FOUND", ["items[0].id", "items[1].id"])),
        ("PUT", {"items": [{"id": UNKNOWN}, {"id": UNKNOWN}]}, (400, "VALIDATION_ERROR", ["items[1].id"])),
        ("PUT", {"items": [{"id": UNKNOWN, "stock": -1}]}, (400, "VALIDATION_ERROR", ["items[0].stock"])),
        ("DELETE", {"ids": []}, (400, "VALIDATION_ERROR", ["ids"])),
        ("DELETE", {"ids": [1]}, (400, "VALIDATION_ERROR", ["ids[0]"])),
        ("DELETE", {"ids": [UNKNOWN, "x"]}, (404, "NOT_FOUND", ["ids[0]", "ids[1]"])),
        ("DELETE", {"ids": [UNKNOWN] * 1001}, (400, "VALIDATION_ERROR", ["ids"])),
    ],
)
async def test_what_is_wrong_is_named(app: TestApp, method: str, body: object, expected: tuple[Any, ...]) -> None:
    assert await refusal(app, method, body) == expected


@pytest.mark.promise("entities, details: Missing ids of a batch are named, nothing changed")
async def test_a_missing_row_among_existing_rows_changes_nothing(app: TestApp) -> None:
    first, two, _ = await made(app)
    foreign = await app.call("POST", "/api/products", as_whom="other", json=lamp(9))
    theirs = foreign.json()["data"]["id"]
    items = [{"id": first, "stock": 5}, {"id": theirs, "stock": 5}, {"id": two, "stock": 5}]
    assert await refusal(app, "PUT", {"items": items}) == (404, "NOT_FOUND", ["items[1].id"])
    assert await refusal(app, "DELETE", {"ids": [first, theirs]}) == (404, "NOT_FOUND", ["ids[1]"])
    rows = (await app.call("GET", "/api/products", as_whom="acme")).json()["data"]["items"]
    assert [row["stock"] for row in rows] == [0, 0, 0]


async def test_clashing_items_are_both_named(app: TestApp) -> None:
    items = [lamp(1), lamp(2), lamp(1)]
    assert await refusal(app, "POST", {"items": items}) == (409, "CONFLICT", ["items[0].sku", "items[2].sku"])
    await made(app, 1)
    assert await refusal(app, "POST", {"items": [lamp(0)]}) == (409, "CONFLICT", ["items[0].sku"])


async def test_the_first_of_several_kinds_of_failure_is_reported(app: TestApp) -> None:
    """400, then 404, then 409, then 422."""
    first, two, three = await made(app)
    live, taken, missing = {"status": "live"}, {"sku": "LAMP-2"}, {"id": UNKNOWN}
    broken = [{"id": first, **live}, {"id": two, **taken}, {**missing, "categoryId": UNKNOWN}]
    assert await refusal(app, "PUT", {"items": broken}) == (400, "VALIDATION_ERROR", ["items[2].categoryId"])
    broken[2] = missing
    assert await refusal(app, "PUT", {"items": broken}) == (404, "NOT_FOUND", ["items[2].id"])
    status, code, fields = await refusal(app, "PUT", {"items": broken[:2]})
    assert (status, code) == (409, "CONFLICT")
    assert "items[1].sku" in fields
    broken[1] = {"id": three, **live}
    expected = (422, "UNPROCESSABLE_ENTITY", ["items[0].categoryId", "items[1].categoryId"])
    assert await refusal(app, "PUT", {"items": broken[:2]}) == expected


async def test_a_batch_needs_what_its_single_form_needs(app: TestApp) -> None:
    for method, path in (("POST", BATCH), ("PUT", BATCH), ("DELETE", BATCH), ("POST", f"{BATCH}/delete")):
        assert await refusal(app, method, {"x": 1}, path, "reader") == (403, "FORBIDDEN", [])
    shared = await refusal(app, "POST", {"x": 1}, "/api/currencies/batch")
    assert shared == (403, "FORBIDDEN", [])
    items = [{"code": "EUR", "name": "Euro"}, {"code": "USD", "name": "Dollar"}]
    answer = await app.call("POST", "/api/currencies/batch", as_whom="root", json={"items": items})
    assert (answer.status_code, answer.json()["data"]["created"]) == (200, 2)


async def test_a_batch_may_be_eight_mebibytes(app: TestApp) -> None:
    items = [lamp(n, description="x" * 9_000) for n in range(800)]
    answer = await app.call("POST", BATCH, as_whom="acme", json={"items": items})
    assert (answer.status_code, answer.json()["data"]["created"]) == (200, 800)
    too_large = {"items": [lamp(n, description="x" * 10_000) for n in range(900)]}
    assert (await refusal(app, "POST", too_large))[:2] == (413, "PAYLOAD_TOO_LARGE")


async def test_there_is_nothing_to_read_in_a_batch(app: TestApp) -> None:
    answer = await app.call("GET", BATCH, as_whom="acme")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "DELETE, POST, PUT, OPTIONS")


LAMP = {"name": "Lamp", "sku": "LAMP-1", "price": 19.99}
REPLAYED = "Idempotent-Replayed"


async def post(
    app: TestApp, body: Json, key: str = "k-1", whom: str = "acme", path: str = "/api/products"
) -> httpx.Response:
    return await app.call("POST", path, as_whom=whom, json=body, headers={"Idempotency-Key": key})


@pytest.mark.promise("entities, details: Idempotency-Key: the first response again")
async def test_the_same_request_gets_the_first_answer_again(app: TestApp) -> None:
    first, again = await post(app, LAMP), await post(app, LAMP)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json()["data"] == first.json()["data"]
    for name in ("Location", "ETag"):
        assert again.headers[name] == first.headers[name]
    assert (first.headers.get(REPLAYED), again.headers.get(REPLAYED)) == (None, "true")
    assert (await app.call("GET", "/api/products", as_whom="acme")).json()["data"]["totalCount"] == 1


async def test_the_first_answer_is_of_its_time(app: TestApp) -> None:
    first = await post(app, LAMP)
    await app.call("PUT", first.headers["Location"], as_whom="acme", json={"stock": 7})
    assert (await post(app, LAMP)).json()["data"] == first.json()["data"]
    await app.call("DELETE", first.headers["Location"], as_whom="acme")
    assert (await post(app, LAMP)).json()["data"] == first.json()["data"]


@pytest.mark.promise("entities, details: the same key with another body: 422")
@pytest.mark.parametrize(
    ("body", "path"),
    [({**LAMP, "stock": 1}, "/api/products"), (LAMP, "/api/categories"), ({"items": [LAMP]}, "/api/products/batch")],
)
async def test_another_request_under_the_key_is_refused(app: TestApp, body: Json, path: str) -> None:
    await post(app, LAMP)
    body = {"name": "Books"} if path == "/api/categories" else body
    answer = await post(app, body, path=path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "UNPROCESSABLE_ENTITY")


async def test_a_key_is_its_callers_own(app: TestApp) -> None:
    assert (await post(app, LAMP)).status_code == 201
    assert (await post(app, LAMP, whom="other")).headers.get(REPLAYED) is None
    assert (await post(app, {**LAMP, "sku": "LAMP-2"}, whom="root in acme")).headers.get(REPLAYED) is None


async def test_a_refused_request_can_be_repeated_with_its_idempotency_key(app: TestApp) -> None:
    await post(app, LAMP, key="other")
    assert (await post(app, LAMP)).status_code == 409
    page = (await app.call("GET", "/api/products", as_whom="acme")).json()["data"]
    await app.call("DELETE", f"/api/products/{page['items'][0]['id']}", as_whom="acme")
    assert (await post(app, LAMP)).status_code == 201


async def test_after_a_day_it_is_a_new_request(app: TestApp) -> None:
    await post(app, LAMP)
    app.clock.move(timedelta(hours=24))
    await app.login("acme", "admin@acme.example")
    assert (await post(app, LAMP)).status_code == 409


async def test_concurrent_requests_with_one_key_get_the_first_answer(app: TestApp) -> None:
    answers = await asyncio.gather(*(post(app, LAMP) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert sum(REPLAYED in answer.headers for answer in answers) == 7


async def test_batches_and_restorations_are_idempotent_by_key(app: TestApp) -> None:
    batch = "/api/products/batch"
    first, again = await post(app, {"items": [LAMP]}, path=batch), await post(app, {"items": [LAMP]}, path=batch)
    assert again.json()["data"] == first.json()["data"]
    assert again.headers[REPLAYED] == "true"
    ids = [item["id"] for item in first.json()["data"]["items"]]
    gone = [await post(app, {"ids": ids}, "k-2", path=f"{batch}/delete") for _ in range(2)]
    assert gone[0].json()["data"] == gone[1].json()["data"] == {"deleted": 1, "ids": ids}
    back = [await post(app, {}, "k-3", path=f"/api/products/{ids[0]}/restore") for _ in range(2)]
    assert [answer.status_code for answer in back] == [200, 200]
    assert back[0].json()["data"] == back[1].json()["data"]


@pytest.mark.parametrize("key", ["", "x" * 256, "é", "a\tb", "a\x7f"])
async def test_a_key_that_is_none_is_refused(app: TestApp, key: str) -> None:
    headers = {b"Idempotency-Key": key.encode("latin-1")}
    answer = await app.call("POST", "/api/products", as_whom="acme", json=LAMP, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")
    assert "1 to 255 printable ASCII characters" in answer.json()["error"]["message"]
    assert (await post(app, LAMP, key="x" * 255)).status_code == 201


async def test_a_key_may_have_every_printable_character(app: TestApp) -> None:
    key = "".join(chr(code) for code in range(ord("!"), 127)) + " of 17"
    first, again = await post(app, LAMP, key=key), await post(app, LAMP, key=key)
    assert (first.status_code, again.headers[REPLAYED]) == (201, "true")


async def test_the_end_of_a_file_is_not_the_beginning_of_its_options(app: TestApp) -> None:
    """Both forms have the same bytes, one after the other."""
    first = {"files": {"file": ("a.csv", "name\r\nA\r\n")}, "data": {"options": "{}"}}
    second = {"files": {"file": ("a.csv", "name\r\nA\r\n{}")}}
    answers = [
        await app.call("POST", "/api/categories/import", as_whom="acme", headers={"Idempotency-Key": "k"}, **form)
        for form in (first, first, second)
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 422]
    assert "idempotent-replayed" in answers[1].headers
