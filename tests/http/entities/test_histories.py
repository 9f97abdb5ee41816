"""What happened to a row, told to who may read it."""

from tests.http.app import Place

UNKNOWN = "01900000-0000-7000-8000-000000000000"


async def category(place: Place) -> str:
    made = await place.call("POST", "/api/categories", as_whom="acme", json={"name": "Books"})
    path: str = made.headers["Location"]
    return path


async def test_it_tells_who_changed_what_from_what_to_what_and_when(place: Place) -> None:
    path = await category(place)
    await place.call("PUT", path, as_whom="acme", json={"name": "Novels", "description": "All of them"})
    answer = await place.call("GET", f"{path}/history", as_whom="acme")
    me = (await place.call("GET", "/api/auth/me", as_whom="acme")).json()["data"]["id"]
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


async def test_it_comes_in_pages(place: Place) -> None:
    path = await category(place)
    for n in range(4):
        await place.call("PUT", path, as_whom="acme", json={"name": f"Books {n}"})
    data = (await place.call("GET", f"{path}/history?page=2&pageSize=2", as_whom="acme")).json()["data"]
    assert [one["version"] for one in data["items"]] == [3, 2]
    assert (data["totalPages"], data["hasNextPage"], data["hasPreviousPage"]) == (3, True, True)


async def test_who_may_not_read_the_row_is_not_told(place: Place) -> None:
    path = await category(place)
    for whom, one, status in (
        ("reader", path, 403),
        ("other", path, 404),
        ("acme", f"/api/categories/{UNKNOWN}", 404),
        ("acme", "/api/categories/x", 404),
    ):
        assert (await place.call("GET", f"{one}/history", as_whom=whom)).status_code == status
    await place.call("DELETE", path, as_whom="acme")
    assert (await place.call("GET", f"{path}/history", as_whom="acme")).status_code == 404
    shown = await place.call("GET", f"{path}/history?includeDeleted=true", as_whom="acme")
    assert shown.json()["data"]["items"][0]["action"] == "deleted"
    await place.make_role("acme", "Categories", ["read:categories"])
    await place.make_user("acme", "c@acme.example", ["Categories"])
    await place.login("c", "c@acme.example")
    assert (await place.call("GET", f"{path}/history?includeDeleted=true", as_whom="c")).status_code == 403


async def test_a_parameter_that_it_does_not_take_is_named(place: Place) -> None:
    path = await category(place)
    for query in ("pgae=1", "page=0", "name=x", "include=products", "includeDeleted=x"):
        answer = await place.call("GET", f"{path}/history?{query}", as_whom="acme")
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


async def test_only_entities_that_keep_one_have_one(place: Place) -> None:
    made = await place.call("POST", "/api/products", as_whom="acme", json={"name": "L", "sku": "L-1", "price": 1})
    assert (await place.call("GET", f"{made.headers['Location']}/history", as_whom="acme")).status_code == 404
