"""Attaching by each kind of write: batches, upserts, operations and imports."""

import pytest

from tests.http.app import Json, TestApp
from tests.http.entities.attachments.desk import made, open_desk, uploaded


@pytest.fixture
async def desk() -> TestApp:
    return await open_desk()


async def shown(desk: TestApp, row: str) -> str | None:
    answer = await desk.call("GET", f"/api/items/{row}?include=photo", as_whom="acme")
    photo: Json | None = answer.json()["data"]["photo"]
    return None if photo is None else photo["id"]


async def test_a_batch_attaches_a_file_to_one_item(desk: TestApp) -> None:
    photo, other = await uploaded(desk), await uploaded(desk)
    items = [{"code": "a", "photoId": photo}, {"code": "b", "photoId": photo}]
    twice = await desk.call("POST", "/api/items/batch", as_whom="acme", json={"items": items})
    assert (twice.status_code, twice.json()["error"]["details"][0]["field"]) == (400, "items[1].photoId")
    items[1]["photoId"] = other
    assert (await desk.call("POST", "/api/items/batch", as_whom="acme", json={"items": items})).status_code == 200


async def test_an_upsert_replaces_the_file(desk: TestApp) -> None:
    first, second = await uploaded(desk), await uploaded(desk)
    row = (await made(desk, code="a", photoId=first))["id"]
    body = {"key": "code", "items": [{"code": "a", "photoId": second}]}
    answer = await desk.call("POST", "/api/items/batch/upsert", as_whom="acme", json=body)
    assert (answer.status_code, answer.json()["data"]["updated"]) == (200, 1), answer.text
    assert await shown(desk, row) == second


async def test_operations_attach_all_files_or_none(desk: TestApp) -> None:
    photo = await uploaded(desk)
    create = {"op": "create", "entity": "items", "values": {"code": "a", "photoId": photo}}
    wrong = {"op": "create", "entity": "items", "values": {"code": "b", "photoId": photo}}
    refused = await desk.call("POST", "/api/operations", as_whom="acme", json={"operations": [create, wrong]})
    assert (refused.status_code, refused.json()["error"]["details"][0]["field"]) == (400, "operations[1].photoId")
    done = await desk.call("POST", "/api/operations", as_whom="acme", json={"operations": [create]})
    assert done.status_code == 200, done.text
    assert await shown(desk, done.json()["data"]["results"][0]["id"]) == photo


async def test_an_import_attaches_only_files_of_the_importer(desk: TestApp) -> None:
    own, foreign = await uploaded(desk), await uploaded(desk, whom="root in acme")
    plan = await uploaded(desk, b"plan", "items.plans", name="a.txt")
    text = f'code,photoId,planIds\na,{own},"[""{plan}""]"\nb,{foreign},\nc,{own},\n'
    files = {"file": ("items.csv", text.encode(), "text/csv")}
    answer = await desk.call("POST", "/api/items/import", as_whom="acme", files=files)
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert (data["imported"], [error["row"] for error in data["errors"]]) == (1, [3, 4])
    rows = (await desk.call("GET", "/api/items?include=photo,plans", as_whom="acme")).json()["data"]["items"]
    assert [(row["photo"]["id"], [each["id"] for each in row["plans"]]) for row in rows] == [(own, [plan])]


async def test_an_import_that_updates_releases_the_previous_file(desk: TestApp) -> None:
    first, second = await uploaded(desk), await uploaded(desk)
    row = await made(desk, code="a", photoId=first)
    files = {
        "file": ("items.csv", f"code,photoId\na,{second}\n".encode(), "text/csv"),
        "options": (None, b'{"mode": "upsert", "key": "code"}', "application/json"),
    }
    answer = await desk.call("POST", "/api/items/import", as_whom="acme", files=files)
    assert (answer.status_code, answer.json()["data"]["imported"]) == (200, 1), answer.text
    assert await shown(desk, row["id"]) == second
    other = await desk.call("PATCH", f"/api/items/{row['id']}", as_whom="acme", json={"photoId": first})
    assert other.status_code == 200


async def test_descriptions_name_the_rules_of_files(desk: TestApp) -> None:
    entities = (await desk.call("GET", "/api/entities", as_whom="acme")).json()["data"]["entities"]
    items = next(each for each in entities if each["plural"] == "items")
    fields = {field["name"]: field for field in items["fields"]}
    photo, plans = fields["photoId"], fields["planIds"]
    assert (photo["kind"], photo["relation"], plans["kind"]) == ("attachment", "photo", "attachments")
    assert photo["rules"]["types"] == ["image/png", "image/jpeg"]
    assert photo["rules"]["maxBytes"] == 100_000
    assert plans["rules"]["limit"] == 3
    assert "target" not in photo
    assert "files" not in [each["plural"] for each in entities]
