"""Fields with permissions of their own: who may not read one never learns of it, who may not write one is told."""

from typing import Any

import pytest
import pytest_asyncio

from tests.http.app import Json, TestApp

ALL = ["create:volumes", "read:volumes", "update:volumes", "delete:volumes"]


@pytest_asyncio.fixture
async def volumes(library: TestApp) -> TestApp:
    """``clerk`` neither reads codes nor writes costs; ``buyer`` writes costs; ``coder`` reads codes."""
    for name, more in (("clerk", []), ("buyer", ["write:costs"]), ("coder", ["read:codes"])):
        await library.make_role("acme", name, [*ALL, *more])
        await library.make_user("acme", f"{name}@acme.example", [name])
        await library.login(name, f"{name}@acme.example")
    return library


async def call(app: TestApp, method: str, path: str, whom: str, body: object = None) -> tuple[int, Json]:
    answer = await app.call(method, f"/api/volumes{path}", as_whom=whom, json=body)
    return answer.status_code, answer.json()


async def made(app: TestApp, **values: object) -> str:
    status, body = await call(app, "POST", "", "acme", {"title": "T", "code": "c-1", "cost": 5, **values})
    assert status == 201, body
    path: str = "/" + body["data"]["id"]
    return path


def details(body: Json) -> list[Any]:
    return [detail["field"] for detail in body["error"].get("details", ())]


@pytest.mark.promise("entities, details: Fields with read or write permissions of their own")
async def test_a_field_that_the_caller_may_not_read_is_in_no_answer(volumes: TestApp) -> None:
    path = await made(volumes)
    answers = [
        await call(volumes, "GET", path, "clerk"),
        await call(volumes, "PUT", path, "clerk", {"title": "U"}),
        await call(volumes, "POST", "", "clerk", {"title": "V"}),
        await call(volumes, "POST", "/batch", "clerk", {"items": [{"title": "W"}]}),
        await call(volumes, "PUT", "/batch", "clerk", {"items": [{"id": path[1:], "title": "X"}]}),
        await call(volumes, "GET", "", "clerk"),
        await call(volumes, "GET", f"{path}/history", "clerk"),
    ]
    await volumes.call("DELETE", f"/api/volumes{path}", as_whom="clerk")
    answers.append(await call(volumes, "POST", f"{path}/restore", "clerk"))
    for status, body in answers:
        assert status in (200, 201)
        assert '"code"' not in str(body).replace("'", '"')
    assert '"code"' in str(await call(volumes, "GET", f"{path}/history", "acme")).replace("'", '"')
    status, body = await call(volumes, "GET", path, "coder")
    assert body["data"]["code"] == "c-1"


async def test_a_cached_row_is_not_revalidated_for_a_caller_with_other_rights(volumes: TestApp) -> None:
    """A browser stores one answer for an address, and asks with its tag whoever signs in next."""
    path = await made(volumes)
    for whom in ("coder", "clerk"):
        answer = await volumes.call("GET", f"/api/volumes{path}", as_whom=whom, headers={"If-None-Match": '"1"'})
        assert (answer.status_code, answer.headers["ETag"]) == (200, '"1"')


async def test_a_field_that_the_caller_may_not_read_is_unknown_in_a_body(volumes: TestApp) -> None:
    path = await made(volumes)
    unknown = await call(volumes, "PUT", path, "clerk", {"code": "x"})
    never_was = await call(volumes, "PUT", path, "clerk", {"cade": "x"})
    assert details(unknown[1]) == ["code"]
    assert details(never_was[1]) == ["cade"]
    assert unknown[0] == never_was[0] == 400
    said = [body["error"]["details"][0]["message"] for _, body in (unknown, never_was)]
    assert said == ["is not known", "is not known"]
    for body, fields in (
        ({"title": "", "code": "x", "tilte": "y"}, ["title", "code", "tilte"]),
        ({"items": [{"title": "T", "code": "x"}]}, ["items[0].code"]),
    ):
        status, answer = await call(volumes, "POST", "/batch" if "items" in body else "", "clerk", body)
        assert (status, details(answer)) == (400, fields)


@pytest.mark.promise("entities, details: Fields with read or write permissions of their own")
async def test_changing_a_read_only_field_is_forbidden(volumes: TestApp) -> None:
    path = await made(volumes)
    status, body = await call(volumes, "PUT", path, "clerk", {"cost": 1, "title": "U"})
    assert (status, body["error"]["code"], details(body)) == (403, "FORBIDDEN", ["cost"])
    # whether the cost differs is known when the row is read, and a body that is wrong by itself is told before
    status, body = await call(volumes, "PUT", path, "clerk", {"cost": 1, "title": ""})
    assert (status, details(body)) == (400, ["title"])
    status, body = await call(volumes, "POST", "", "clerk", {"cost": 1, "title": "T"})
    assert (status, details(body)) == (403, ["cost"])
    items = {"items": [{"title": "T"}, {"title": "T", "cost": 1}]}
    status, body = await call(volumes, "POST", "/batch", "clerk", items)
    assert (status, details(body)) == (403, ["items[1].cost"])
    status, body = await call(volumes, "PUT", path, "buyer", {"cost": 1})
    assert (status, body["data"]["cost"]) == (200, 1.0)


async def test_no_error_names_a_field_that_the_caller_may_not_read(volumes: TestApp) -> None:
    await made(volumes)
    await volumes.call("POST", "/api/volumes", as_whom="acme", json={"title": "T", "code": "refused"})
    path = await made(volumes, code="c-2")
    await volumes.call("DELETE", f"/api/volumes{path}", as_whom="acme")
    await made(volumes, code="c-2")
    status, body = await call(volumes, "POST", f"{path}/restore", "clerk")
    assert (status, body["error"]["code"], details(body)) == (409, "CONFLICT", [])
    assert "code" not in body["error"]["message"]
    status, body = await call(volumes, "POST", f"{path}/restore", "coder")
    assert details(body) == ["code"]


async def test_filters_and_sorts_do_not_know_it_either(volumes: TestApp) -> None:
    for query in ("code=c-1", "sort=code", "fields=code", "code.isNull=true"):
        status, body = await call(volumes, "GET", f"?{query}", "clerk")
        assert status == 400, body
        assert (await call(volumes, "GET", f"?{query}", "coder"))[0] == 200


async def test_their_permissions_are_listed(volumes: TestApp) -> None:
    listed = (await volumes.call("GET", "/api/permissions", as_whom="root")).json()["items"]
    assert {"read:codes", "write:costs", "purge:volumes"} <= {permission["name"] for permission in listed}
