"""A row that was read can be sent back as it is: included lists, closed fields, versions."""

import json

import pytest

from tests.http.app import Json, TestApp
from tests.http.entities.guarded.test_guarded_fields import call, details, made, volumes

__all__ = ["volumes"]


@pytest.mark.promise("declarations, rows sent back: …HasMore and included rows are ignored")
async def test_a_row_read_with_a_list_is_taken_by_put(app: TestApp) -> None:
    created = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Kitchen"})
    path = f"/api/categories/{created.json()['data']['id']}"
    read = (await app.call("GET", f"{path}?include=products", as_whom="acme")).json()["data"]
    assert read["productsHasMore"] is False
    answer = await app.call("PUT", path, as_whom="acme", json={**read, "name": "Cooking"})
    assert (answer.status_code, answer.json()["data"]["name"]) == (200, "Cooking")


@pytest.mark.promise("declarations, rows sent back: …HasMore and included rows are ignored")
async def test_a_name_that_only_looks_like_such_a_list_is_refused(app: TestApp) -> None:
    answer = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Kitchen", "partsHasMore": True})
    assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (400, "partsHasMore")


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_different_id_is_reported_with_all_other_errors(volumes: TestApp, method: str) -> None:
    path = await made(volumes)
    for body, wrong in (
        ({"id": "x", "title": 5, "nam": 1}, ["id", "nam", "title"]),
        ({"id": 5}, ["id"]),
        ({"id": path[1:].upper(), "title": 5}, ["title"]),
        ({"id": None, "title": 5}, ["title"]),
    ):
        status, answer = await call(volumes, method, path, "clerk", body)
        assert (status, sorted(details(answer))) == (400, wrong)
    status, answer = await call(volumes, method, path, "clerk", {"id": "x", "cost": 7})
    assert (status, details(answer)) == (400, ["id"])


async def read(app: TestApp, path: str, whom: str = "clerk") -> Json:
    data: Json = (await call(app, "GET", path, whom))[1]["data"]
    return data


@pytest.mark.promise("PATCH /api/{entities}/{id}: a protected field with its stored value is no write")
@pytest.mark.promise(
    "declarations, rows sent back: a field that one may read and not write is no write while it is equal, by itself "
    "and in a batch"
)
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
async def test_a_read_only_field_is_accepted_while_it_is_equal(volumes: TestApp, method: str) -> None:
    path = await made(volumes)
    row = await read(volumes, path)
    assert row["cost"] == 5
    equal: tuple[object, ...] = (5, 5.0, "5.00")
    for cost in equal:
        status, body = await call(volumes, method, path, "clerk", {**row, "title": f"at {cost}", "cost": cost})
        assert (status, body["data"]["title"]) == (200, f"at {cost}")
    different: tuple[object, ...] = (5.01, None, "much")
    for cost in different:
        status, body = await call(volumes, method, path, "clerk", {**row, "cost": cost})
        assert (status, body["error"]["code"], details(body)) == (403, "FORBIDDEN", ["cost"])
    assert (await read(volumes, path))["version"] == 4


@pytest.mark.promise(
    "declarations, rows sent back: a page that was read is taken by a batch, with a version for each item"
)
async def test_a_page_that_was_read_is_taken_by_a_batch(volumes: TestApp) -> None:
    for title in ("a", "b", "c"):
        await made(volumes, title=title, code=title)
    rows = (await call(volumes, "GET", "?sort=title", "clerk"))[1]["data"]["items"]
    sent = [{**row, "title": row["title"] * 2} for row in rows]
    status, body = await call(volumes, "PUT", "/batch", "clerk", {"items": sent})
    assert (status, [row["title"] for row in body["data"]["items"]]) == (200, ["aa", "bb", "cc"])
    status, body = await call(volumes, "PUT", "/batch", "clerk", {"items": sent})
    assert (status, body["error"]["code"]) == (412, "PRECONDITION_FAILED")
    assert details(body) == ["items[0].version", "items[1].version", "items[2].version"]
    again = [{**row, "version": None} for row in sent]
    again[1]["cost"] = 7
    status, body = await call(volumes, "PUT", "/batch", "clerk", {"items": again})
    assert (status, details(body)) == (403, ["items[1].cost"])
    del again[1]["cost"]
    status, body = await call(volumes, "PUT", "/batch", "clerk", {"items": again})
    assert (status, [row["version"] for row in body["data"]["items"]]) == (200, [3, 3, 3])


@pytest.mark.promise(
    "declarations, rows sent back: a page that was read is taken by a batch, with a version for each item"
)
@pytest.mark.parametrize("version", ["1", 0, -1, 1.5, True, 2**31, 10**30, []])
async def test_a_version_is_a_whole_number(volumes: TestApp, version: object) -> None:
    path = await made(volumes)
    item = {"id": path[1:], "title": "b", "version": version}
    status, body = await call(volumes, "PUT", "/batch", "clerk", {"items": [item]})
    assert (status, details(body)) == (400, ["items[0].version"])


@pytest.mark.promise(
    "declarations, rows sent back: two unique values are swapped in one batch, of any kind, by any number of rows, and "
    "beside others"
)
async def test_two_rows_of_a_batch_swap_a_unique_value(app: TestApp) -> None:
    rows = [
        (await app.call("POST", "/api/products", as_whom="acme", json={"name": "Lamp", "sku": sku, "price": 1})).json()
        for sku in ("LAMP-1", "LAMP-2")
    ]
    first, second = (row["data"] for row in rows)
    items = [{**first, "sku": "LAMP-2"}, {**second, "sku": "LAMP-1"}]
    answer = await app.call("PUT", "/api/products/batch", as_whom="acme", json={"items": items})
    assert (answer.status_code, [row["sku"] for row in answer.json()["data"]["items"]]) == (200, ["LAMP-2", "LAMP-1"])


async def test_a_restoration_asks_for_the_version_of_the_deleted_row(app: TestApp) -> None:
    made = await app.call("POST", "/api/products", as_whom="acme", json={"name": "Lamp", "sku": "LAMP-1", "price": 1})
    path, token = made.headers["Location"], f"Bearer {app.tokens['acme']}"
    await app.call("DELETE", path, as_whom="acme")
    answers = [
        await app.client.request("POST", f"{path}/restore", headers={"Authorization": token, "If-Match": tag})
        for tag in ('"1"', '"2"', '"3"')
    ]
    assert [(answer.status_code, answer.headers.get("ETag")) for answer in answers] == [
        (412, None),
        (200, '"3"'),
        (409, None),
    ]


@pytest.mark.promise("declarations, values: If-Match takes lists and compares strongly, If-None-Match weakly")
@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (['"1", "2"'], 200),
        (['"7" ,\t"2"'], 200),
        ([',, "2",'], 200),
        (['"1"', '"2"'], 200),
        (['"a,b", "2"'], 200),
        (["*"], 200),
        (['"1", "3"'], 412),
        (['W/"2"'], 412),
        (['W/"2", "1"'], 412),
        (['"1", *'], 412),
        (["2"], 412),
        (['"1 "2"'], 412),
        ([""], 412),
        (['"1" "2"'], 412),
        (['"1"\t"2"'], 412),
        (['"02"'], 412),
        ([" "], 412),
    ],
)
async def test_if_match_accepts_lists_and_compares_strongly(app: TestApp, lines: list[str], status: int) -> None:
    made = await app.call("POST", "/api/products", as_whom="acme", json={"name": "Lamp", "sku": "LAMP-1", "price": 1})
    path, token = made.headers["Location"], f"Bearer {app.tokens['acme']}"
    await app.call("PUT", path, as_whom="acme", json={"price": 2})
    headers = [("Authorization", token), *(("If-Match", line) for line in lines)]
    changed = await app.client.request("PUT", path, headers=headers, json={"price": 3})
    assert changed.status_code == status
    headers = [("Authorization", token), *(("If-Match", line.replace("2", "3")) for line in lines if line != "*")]
    if status == 200:
        assert (await app.client.request("DELETE", path, headers=headers)).status_code == 204


@pytest.mark.promise("declarations, values: If-Match takes lists and compares strongly, If-None-Match weakly")
@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (['"7", "1"'], 304),
        (['W/"7", W/"1"'], 304),
        (['"7"', '"1"'], 304),
        (['"a,b","1"'], 304),
        (["*"], 304),
        (['"7", "8"'], 200),
        (["1"], 200),
        (['"1 "1"'], 200),
        (['"7,1"'], 200),
    ],
)
async def test_if_none_match_accepts_lists_and_compares_weakly(app: TestApp, lines: list[str], status: int) -> None:
    made = await app.call("POST", "/api/products", as_whom="acme", json={"name": "Lamp", "sku": "LAMP-1", "price": 1})
    headers = [("Authorization", f"Bearer {app.tokens['acme']}"), *(("If-None-Match", line) for line in lines)]
    assert (await app.client.request("GET", made.headers["Location"], headers=headers)).status_code == status


@pytest.mark.parametrize("given", ['"0"', "*", '"1"'])
async def test_a_row_without_versions_has_no_tag_and_is_always_answered_whole(app: TestApp, given: str) -> None:
    listed = await app.call("GET", "/api/audit-events?pageSize=1", as_whom="acme")
    path = f"/api/audit-events/{listed.json()['data']['items'][0]['id']}"
    read = await app.call("GET", path, as_whom="acme", headers={"If-None-Match": given})
    assert (read.status_code, "ETag" in read.headers, read.headers["Cache-Control"]) == (200, False, "no-store")
    described = (await app.call("GET", "/docs/v1/docs.json")).json()["paths"]["/api/audit-events/{id}"]["get"]
    # parameters that many operations share are told by reference
    assert "nonematch" not in json.dumps(described["parameters"]).lower().replace("-", "")
    assert "304" not in described["responses"]
    assert "ETag" not in described["responses"]["200"].get("headers", {})
