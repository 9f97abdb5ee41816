"""Requests that come twice under one key."""

import asyncio
from datetime import timedelta

import httpx
import pytest

from tests.http.app import Json, TestApp

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


async def test_what_was_refused_can_be_tried_again(app: TestApp) -> None:
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


async def test_of_two_at_once_both_get_the_first_ones_answer(app: TestApp) -> None:
    answers = await asyncio.gather(*(post(app, LAMP) for _ in range(8)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.headers["Location"] for answer in answers}) == 1
    assert sum(REPLAYED in answer.headers for answer in answers) == 7


async def test_a_batch_and_a_restore_come_once_too(app: TestApp) -> None:
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
