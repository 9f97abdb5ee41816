"""What happened to a row, told to who may read it."""

import pytest

from tests.http.app import TestApp

UNKNOWN = "01900000-0000-7000-8000-000000000000"


async def category(app: TestApp) -> str:
    made = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Books"})
    path: str = made.headers["Location"]
    return path


@pytest.mark.promise("GET /api/{entities}/{id}/history: who changed what and when")
async def test_it_tells_who_changed_what_from_what_to_what_and_when(app: TestApp) -> None:
    path = await category(app)
    await app.call("PUT", path, as_whom="acme", json={"name": "Novels", "description": "All of them"})
    answer = await app.call("GET", f"{path}/history", as_whom="acme")
    me = (await app.call("GET", "/api/auth/me", as_whom="acme")).json()["data"]["id"]
    assert answer.status_code == 200
    assert answer.json()["data"] == {
        "items": [
            {
                "version": 2,
                "action": "changed",
                "at": "2026-11-20T12:00:00.000000Z",
                "by": me,
                "changes": [
                    {"field": "name", "from": "Books", "to": "Novels"},
                    {"field": "description", "from": None, "to": "All of them"},
                ],
            },
            {
                "version": 1,
                "action": "created",
                "at": "2026-11-20T12:00:00.000000Z",
                "by": me,
                "changes": [{"field": "name", "from": None, "to": "Books"}],
            },
        ],
        "page": 1,
        "pageSize": 20,
        "totalCount": 2,
        "totalPages": 1,
        "hasNextPage": False,
        "hasPreviousPage": False,
    }


async def test_it_comes_in_pages(app: TestApp) -> None:
    path = await category(app)
    for n in range(4):
        await app.call("PUT", path, as_whom="acme", json={"name": f"Books {n}"})
    data = (await app.call("GET", f"{path}/history?page=2&pageSize=2", as_whom="acme")).json()["data"]
    assert [change["version"] for change in data["items"]] == [3, 2]
    assert (data["totalPages"], data["hasNextPage"], data["hasPreviousPage"]) == (3, True, True)


async def test_who_may_not_read_the_row_is_not_told(app: TestApp) -> None:
    path = await category(app)
    for whom, address, status in (
        ("reader", path, 403),
        ("other", path, 404),
        ("acme", f"/api/categories/{UNKNOWN}", 404),
        ("acme", "/api/categories/x", 404),
    ):
        assert (await app.call("GET", f"{address}/history", as_whom=whom)).status_code == status
    await app.call("DELETE", path, as_whom="acme")
    assert (await app.call("GET", f"{path}/history", as_whom="acme")).status_code == 404
    shown = await app.call("GET", f"{path}/history?includeDeleted=true", as_whom="acme")
    assert shown.json()["data"]["items"][0]["action"] == "deleted"
    await app.make_role("acme", "Categories", ["read:categories"])
    await app.make_user("acme", "c@acme.example", ["Categories"])
    await app.login("c", "c@acme.example")
    assert (await app.call("GET", f"{path}/history?includeDeleted=true", as_whom="c")).status_code == 403


async def test_a_parameter_that_it_does_not_take_is_named(app: TestApp) -> None:
    path = await category(app)
    for query in ("pgae=1", "page=0", "name=x", "include=products", "includeDeleted=x"):
        answer = await app.call("GET", f"{path}/history?{query}", as_whom="acme")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


async def test_only_entities_that_keep_one_have_one(app: TestApp) -> None:
    made = await app.call("POST", "/api/products", as_whom="acme", json={"name": "L", "sku": "L-1", "price": 1})
    assert (await app.call("GET", f"{made.headers['Location']}/history", as_whom="acme")).status_code == 404
