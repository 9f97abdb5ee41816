"""GET /api/changes and GET /api/{entities}/changes."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.contracts.entities.changes.followed_entities import FOLLOWED
from tests.http.app import ADMIN, TestApp, open_test_app

READER = ["read:boards", "read-own:cards", "create:cards", "update-own:cards"]


@pytest_asyncio.fixture
async def app() -> AsyncIterator[TestApp]:
    opened = await open_test_app(entities=FOLLOWED)
    await opened.login("root", ADMIN)
    for name in ("acme", "globex"):
        await opened.make_tenant(name)
    await opened.make_role("acme", "Reader", READER)
    await opened.make_user("acme", "ann@acme.example", ["Reader"])
    await opened.make_user("globex", "gus@globex.example", [])
    await opened.login("ann", "ann@acme.example")
    yield opened
    await opened.client.aclose()


async def follow(app: TestApp, path: str = "changes", whom: str = "root in acme", **query: Any) -> httpx.Response:
    return await app.call("GET", f"/api/{path}", as_whom=whom, params=query)


async def cursor(app: TestApp, whom: str = "root in acme") -> str:
    found: str = (await follow(app, whom=whom)).json()["data"]["cursor"]
    return found


async def make(app: TestApp, plural: str, whom: str = "root in acme", **values: object) -> str:
    answer = await app.call("POST", f"/api/{plural}", as_whom=whom, json=values)
    assert answer.status_code == 201, answer.text
    made: str = answer.json()["data"]["id"]
    return made


@pytest.mark.promise("GET /api/changes: the changes of all rows that the caller may read, in order after a cursor")
async def test_changes_follow_a_cursor(app: TestApp) -> None:
    start = await follow(app)
    assert (start.status_code, start.headers["Cache-Control"]) == (200, "no-store")
    data = start.json()["data"]
    assert (data["items"], data["hasMore"]) == ([], False)
    board = await make(app, "boards", name="b")
    await app.call("PUT", f"/api/boards/{board}", as_whom="root in acme", json={"name": "c"})
    found = (await follow(app, after=data["cursor"])).json()["data"]
    created, changed = found["items"]
    assert (created["entity"], created["id"], created["version"], created["action"]) == ("boards", board, 1, "created")
    assert (changed["action"], changed["changed"], changed["data"]["name"]) == ("changed", ["name"], "c")
    assert "truncated" not in changed
    assert (await follow(app, after=found["cursor"])).json()["data"]["items"] == []
    assert (await follow(app, whom="root in globex", after=data["cursor"])).json()["data"]["items"] == []


@pytest.mark.promise("GET /api/{entities}/changes: the changes of one entity, with the filters of its list")
async def test_an_entity_has_a_feed_with_filters(app: TestApp) -> None:
    begin = await cursor(app)
    await make(app, "boards", name="other")
    board = await make(app, "boards", name="mine")
    found = await follow(app, "boards/changes", after=begin, name="mine")
    assert [(each["action"], each["id"]) for each in found.json()["data"]["items"]] == [("created", board)]
    refused = await follow(app, "boards/changes", search="x", sort="name")
    assert (refused.status_code, {wrong["field"] for wrong in refused.json()["error"]["details"]}) == (
        400,
        {"search", "sort"},
    )
    assert (await follow(app, "helpers/changes")).status_code in (400, 404)


async def test_a_reader_sees_entities_and_rows_that_permissions_allow(app: TestApp) -> None:
    begin = await cursor(app, "ann")
    await make(app, "labels", name="l")
    await make(app, "cards", title="of root")
    board = await make(app, "boards", name="b")
    found = (await follow(app, whom="ann", after=begin)).json()["data"]["items"]
    assert [(each["entity"], each["id"]) for each in found] == [("boards", board)]
    assert (await follow(app, whom="ann", entities="labels")).status_code == 403
    assert (await follow(app, "labels/changes", "ann")).status_code == 403
    assert (await follow(app, "cards/changes", "ann", secret="x")).status_code == 400


async def test_wrong_questions_are_refused(app: TestApp) -> None:
    unknown = await follow(app, entities="helpers")
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    for query in ({"after": "x"}, {"after": "a" * 10_000}):
        refused = await follow(app, **query)
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "BAD_REQUEST")
    old = "MDAwMDAwMDAuMC4w"
    expired = await follow(app, after=old)
    assert (expired.status_code, expired.json()["error"]["code"]) == (410, "CURSOR_EXPIRED")
    every = await app.call("GET", "/api/changes", as_whom="root in acme", headers={"X-Tenant-Scope": "all"})
    assert (every.status_code, every.json()["error"]["code"]) == (400, "BAD_REQUEST")


@pytest.mark.promise("GET /api/{entities}/changes: an export as JSON names the cursor from which to follow its rows")
async def test_an_export_as_json_has_the_cursor_to_follow(app: TestApp) -> None:
    await make(app, "boards", name="in the file")
    exported = await app.call("GET", "/api/boards/export?format=json", as_whom="root in acme")
    assert [row["name"] for row in exported.json()] == ["in the file"]
    later = await make(app, "boards", name="later")
    found = await follow(app, "boards/changes", after=exported.headers["X-Changes-Cursor"])
    assert [each["id"] for each in found.json()["data"]["items"]] == [later]
    for path in ("boards/export?format=csv", "helpers/export?format=json"):
        assert "X-Changes-Cursor" not in (await app.call("GET", f"/api/{path}", as_whom="root in acme")).headers


async def test_a_wait_ends_without_a_change(app: TestApp) -> None:
    answer = await follow(app, after=await cursor(app), wait=1)
    assert answer.json()["data"]["items"] == []
