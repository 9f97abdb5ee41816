"""Delete, restore, delete for good: who may, and what is answered.

What happened to a row, told to who may read it.
"""

import pytest

from tests.http.app import Json, TestApp

LAMP = {"name": "Lamp", "sku": "LAMP-1", "price": 19.99}
UNKNOWN = "01900000-0000-7000-8000-000000000000"


async def lamp(app: TestApp, **more: object) -> str:
    answer = await app.call("POST", "/api/products", as_whom="acme", json={**LAMP, **more})
    assert answer.status_code == 201, answer.text
    path: str = answer.headers["Location"]
    return path


async def code(app: TestApp, method: str, path: str, whom: str = "acme", **more: Json) -> tuple[int, str | None]:
    answer = await app.call(method, path, as_whom=whom, **more)
    return answer.status_code, answer.json()["error"]["code"] if answer.is_error else None


async def holder(app: TestApp, *permissions: str) -> str:
    name = " ".join(permissions).replace(":", "-").replace(" ", "-")
    await app.make_role("acme", name, list(permissions))
    await app.make_user("acme", f"{name}@acme.example", [name])
    await app.login(name, f"{name}@acme.example")
    return name


@pytest.mark.promise("POST /api/{entities}/{id}/restore: the restored row")
async def test_a_restored_row_is_answered(app: TestApp) -> None:
    path = await lamp(app)
    await app.call("DELETE", path, as_whom="acme")
    answer = await app.call("POST", f"{path}/restore", as_whom="acme")
    assert (answer.status_code, answer.headers["ETag"]) == (200, '"3"')
    data = answer.json()["data"]
    assert (data["name"], data["isDeleted"], data["deletedAt"]) == ("Lamp", False, None)
    assert (await app.call("GET", path, as_whom="acme")).json()["data"] == data


async def test_what_cannot_be_restored(app: TestApp) -> None:
    path = await lamp(app)
    assert await code(app, "POST", f"{path}/restore") == (409, "CONFLICT")
    assert await code(app, "POST", f"/api/products/{UNKNOWN}/restore") == (404, "NOT_FOUND")
    assert await code(app, "POST", "/api/products/x/restore") == (404, "NOT_FOUND")
    await app.call("DELETE", path, as_whom="acme")
    assert await code(app, "POST", f"{path}/restore", "other") == (404, "NOT_FOUND")
    assert await code(app, "POST", f"{path}/restore", "reader") == (403, "FORBIDDEN")
    await lamp(app)
    answer = await app.call("POST", f"{path}/restore", as_whom="acme")
    assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (409, "sku")


async def test_an_entity_without_soft_delete_has_nothing_to_restore(app: TestApp) -> None:
    assert await code(app, "POST", f"/api/currencies/{UNKNOWN}/restore", "root") == (404, "NOT_FOUND")


async def test_reviews_come_back_with_their_product(app: TestApp) -> None:
    path = await lamp(app)
    body = {"productId": path.rpartition("/")[2], "rating": 5, "author": "Ada"}
    review = (await app.call("POST", "/api/reviews", as_whom="acme", json=body)).headers["Location"]
    await app.call("DELETE", path, as_whom="acme")
    assert await code(app, "GET", review) == (404, "NOT_FOUND")
    await app.call("POST", f"{path}/restore", as_whom="acme")
    assert await code(app, "GET", review) == (200, None)


@pytest.mark.promise("entities, details: permanent=true needs purge:, and accepts deleted rows")
async def test_purging_a_row_requires_the_purge_permission(app: TestApp) -> None:
    path = await lamp(app)
    deleter, purger = await holder(app, "delete:products"), await holder(app, "purge:products")
    assert await code(app, "DELETE", f"{path}?permanent=true", deleter) == (403, "FORBIDDEN")
    assert await code(app, "DELETE", path, purger) == (403, "FORBIDDEN")
    assert await code(app, "DELETE", f"{path}?permanent=false", deleter) == (204, None)
    assert await code(app, "DELETE", f"{path}?Permanent=TRUE", purger) == (204, None)
    assert await code(app, "GET", f"{path}?includeDeleted=true") == (404, "NOT_FOUND")
    assert await code(app, "DELETE", f"{path}?permanent=true") == (404, "NOT_FOUND")


async def test_a_misspelt_parameter_deletes_nothing(app: TestApp) -> None:
    path = await lamp(app)
    for query in ("permenent=true", "permanent=yes", "permanent=true&permanent=true", "page=1"):
        assert await code(app, "DELETE", f"{path}?{query}") == (400, "VALIDATION_ERROR")
    assert await code(app, "GET", path) == (200, None)


async def test_without_soft_delete_deletion_options_are_refused(app: TestApp) -> None:
    body = {"code": "EUR", "name": "Euro"}
    path = (await app.call("POST", "/api/currencies", as_whom="root", json=body)).headers["Location"]
    assert await code(app, "DELETE", f"{path}?permanent=true", "root") == (400, "VALIDATION_ERROR")
    assert await code(app, "DELETE", path, "root") == (204, None)


async def test_a_version_is_asked_for_where_there_is_something(app: TestApp) -> None:
    headers = {"If-Match": '"abc"'}
    assert await code(app, "PUT", f"/api/products/{UNKNOWN}", json={}, headers=headers) == (404, "NOT_FOUND")
    assert await code(app, "DELETE", f"/api/products/{UNKNOWN}", headers=headers) == (404, "NOT_FOUND")
    path = await lamp(app)
    assert await code(app, "DELETE", path, headers=headers) == (412, "PRECONDITION_FAILED")
    assert await code(app, "DELETE", f"{path}?permanent=true", headers=headers) == (412, "PRECONDITION_FAILED")


async def test_an_empty_change_changes_nothing(app: TestApp) -> None:
    path = await lamp(app)
    before = (await app.call("GET", path, as_whom="acme")).json()["data"]
    answer = await app.call("PUT", path, as_whom="acme", json={})
    assert (answer.json()["data"], answer.headers["ETag"]) == (before, '"1"')


@pytest.mark.promise(
    "entities, details: the same 404 for an id of another tenant, a deleted one and one that never existed"
)
async def test_ids_of_nothing_are_all_alike(app: TestApp) -> None:
    path = await lamp(app)
    gone = await lamp(app, sku="GONE-1")
    await app.call("DELETE", gone, as_whom="acme")
    for method, body, more in (
        ("GET", None, ""),
        ("PUT", {"price": 1}, ""),
        ("PATCH", {"price": 1}, ""),
        ("DELETE", None, ""),
        ("POST", None, "/restore"),
        ("PUT", {"price": -1}, ""),
    ):
        told = set()
        paths = [f"/api/products/{UNKNOWN}", "/api/products/1", "/api/products/%20", f"/api/products/{UNKNOWN[:-1]}"]
        asked = [(address, "acme") for address in paths] + [(path, "other")]
        asked += [(gone, "acme")] if more == "" else []
        for address, whom in asked:
            answer = await app.call(method, address + more, as_whom=whom, json=body)
            error = answer.json()["error"]
            assert error.pop("traceId")
            told.add((answer.status_code, str(error)))
        assert len(told) == 1, told
        assert told.pop()[0] == (400 if body == {"price": -1} else 404)


async def category(app: TestApp) -> str:
    made = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Books"})
    path: str = made.headers["Location"]
    return path


@pytest.mark.promise("GET /api/{entities}/{id}/history: who changed what and when")
async def test_the_history_contains_the_actor_the_changes_and_the_time(app: TestApp) -> None:
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


async def test_a_caller_who_may_not_read_the_row_may_not_read_its_history(app: TestApp) -> None:
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


async def test_an_unknown_parameter_of_the_history_is_named(app: TestApp) -> None:
    path = await category(app)
    for query in ("pgae=1", "page=0", "name=x", "include=products", "includeDeleted=x"):
        answer = await app.call("GET", f"{path}/history?{query}", as_whom="acme")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


async def test_only_entities_with_history_serve_a_history(app: TestApp) -> None:
    made = await app.call("POST", "/api/products", as_whom="acme", json={"name": "L", "sku": "L-1", "price": 1})
    review = {"productId": made.json()["data"]["id"], "rating": 5, "author": "Ann"}
    made = await app.call("POST", "/api/reviews", as_whom="acme", json=review)
    assert (await app.call("GET", f"{made.headers['Location']}/history", as_whom="acme")).status_code == 404
