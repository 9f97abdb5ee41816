"""A row that was read can be sent back by PUT as it is, whatever was included."""

from tests.http.app import TestApp


async def test_a_row_read_with_a_list_is_taken_by_put(app: TestApp) -> None:
    created = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Kitchen"})
    path = f"/api/categories/{created.json()['data']['id']}"
    read = (await app.call("GET", f"{path}?include=products", as_whom="acme")).json()["data"]
    assert read["productsHasMore"] is False
    answer = await app.call("PUT", path, as_whom="acme", json={**read, "name": "Cooking"})
    assert (answer.status_code, answer.json()["data"]["name"]) == (200, "Cooking")


async def test_a_name_that_only_looks_like_such_a_list_is_refused(app: TestApp) -> None:
    answer = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Kitchen", "partsHasMore": True})
    assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (400, "partsHasMore")
