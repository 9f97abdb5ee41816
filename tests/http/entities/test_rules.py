"""Rules of an entity's own: on its values, on those before, and on other rows.

Rows that all tenants share: an Admin of a tenant reads them, and changes none by any way.
"""

import asyncio
import json

import httpx
import pytest
from msgspec import Struct

from tenantry import entity
from tests.http.app import ADMIN, Json, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.served import served_by


async def volume(app: TestApp, **values: object) -> str:
    made = await app.call("POST", "/api/volumes", as_whom="acme", json={"title": "T", **values})
    row_id: str = made.json()["data"]["id"]
    return row_id


async def lend(app: TestApp, volume_id: str, borrower: str = "Ada") -> httpx.Response:
    return await app.call("POST", "/api/loans", as_whom="acme", json={"volumeId": volume_id, "borrower": borrower})


def told(answer: httpx.Response) -> tuple[int, str, list[tuple[str, str]]]:
    error: Json = answer.json()["error"]
    return answer.status_code, error["code"], [(detail["field"], detail["message"]) for detail in error["details"]]


@pytest.mark.promise("entities, details: UNPROCESSABLE_ENTITY: a rule of the entity refuses")
async def test_a_rule_sees_the_previous_values(library: TestApp) -> None:
    row = await volume(library, condition="worn")
    answer = await library.call("PUT", f"/api/volumes/{row}", as_whom="acme", json={"condition": "new"})
    assert told(answer) == (422, "UNPROCESSABLE_ENTITY", [("condition", "what is worn does not become new")])
    read = await library.call("GET", f"/api/volumes/{row}", as_whom="acme")
    assert (read.json()["data"]["condition"], read.json()["data"]["version"]) == ("worn", 1)


@pytest.mark.promise("entities, details: UNPROCESSABLE_ENTITY: a rule of the entity refuses")
async def test_a_rule_may_ask_for_another_row(library: TestApp) -> None:
    worn, new = await volume(library, condition="worn"), await volume(library)
    assert told(await lend(library, worn)) == (422, "UNPROCESSABLE_ENTITY", [("volumeId", "what is worn is not lent")])
    made = await lend(library, new)
    assert made.status_code == 201
    moved = await library.call("PUT", made.headers["Location"], as_whom="acme", json={"volumeId": worn})
    assert moved.status_code == 422


async def test_a_rule_counts_what_is_written_with_it(library: TestApp) -> None:
    row = await volume(library)
    items = [{"volumeId": row, "borrower": "Ada"} for _ in range(3)]
    answer = await library.call("POST", "/api/loans/batch", as_whom="acme", json={"items": items})
    assert told(answer)[2] == [(f"items[{n}].volumeId", "is lent twice already") for n in range(3)]
    listed = await library.call("GET", "/api/loans", as_whom="acme")
    assert listed.json()["data"]["totalCount"] == 0
    answer = await library.call("POST", "/api/loans/batch", as_whom="acme", json={"items": items[:2]})
    assert answer.status_code == 200


async def test_concurrent_requests_stay_within_the_limit_of_a_rule(library: TestApp) -> None:
    row = await volume(library)
    answers = await asyncio.gather(*(lend(library, row) for _ in range(6)))
    assert sorted(answer.status_code for answer in answers) == [201, 201, 422, 422, 422, 422]


async def test_a_rule_does_not_see_rows_of_other_tenants(library: TestApp) -> None:
    made = await library.call("POST", "/api/volumes", as_whom="other", json={"title": "T"})
    theirs = made.json()["data"]["id"]
    answer = await lend(library, theirs)
    assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (400, "volumeId")


@entity("signs", tenant_owned=False)
class Sign(Struct, rename="camel", kw_only=True):
    name: str


BODIES: dict[tuple[str, str], Json | None] = {
    ("POST", "/api/signs"): {"name": "No"},
    ("PUT", "/api/signs/{id}"): {"name": "No"},
    ("PATCH", "/api/signs/{id}"): {"name": "No"},
    ("DELETE", "/api/signs/{id}"): None,
    ("DELETE", "/api/signs/{id}?permanent=true"): None,
    ("POST", "/api/signs/{id}/restore"): None,
    ("POST", "/api/signs/batch"): {"items": [{"name": "No"}]},
    ("PUT", "/api/signs/batch"): {"items": [{"id": "{id}", "name": "No"}]},
    ("DELETE", "/api/signs/batch"): {"ids": ["{id}"]},
    ("POST", "/api/signs/batch/delete"): {"ids": ["{id}"]},
    ("POST", "/api/signs/import"): None,
}


def filled(value: Json | None, row_id: str) -> Json | None:
    return None if value is None else json.loads(json.dumps(value).replace("{id}", row_id))


async def test_only_a_super_admin_writes_a_shared_row_by_any_route() -> None:
    app = await open_test_app(entities=[Sign])
    await seed(app)
    await app.login("root", ADMIN)
    row_id = (await app.call("POST", "/api/signs", as_whom="root", json={"name": "Yes"})).json()["data"]["id"]
    writing = {
        (served.method, served.path)
        for served in served_by(app.services)
        if served.path.startswith("/api/signs") and served.rules.is_write
    }
    assert writing == {(method, path.partition("?")[0]) for method, path in BODIES}
    for (method, path), body in BODIES.items():
        sent: Json = {"json": filled(body, row_id)} if body is not None else {}
        if path.endswith("import"):
            sent = {"files": {"file": ("signs.csv", b"name\nNo\n")}}
        answer = await app.call(method, path.format(id=row_id), as_whom="acme", **sent)
        assert answer.status_code == 403, (method, path, answer.text)
    row = (await app.call("GET", f"/api/signs/{row_id}", as_whom="acme")).json()["data"]
    assert (row["name"], row["version"]) == ("Yes", 1)
    assert (await app.call("GET", "/api/signs", as_whom="acme")).json()["data"]["totalCount"] == 1
    await app.client.aclose()
