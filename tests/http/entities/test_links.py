"""Links over HTTP: bodies, the routes of single links, ETags, guards, descriptions and schemas."""

from typing import Any
from uuid import uuid4

import pytest

from tests.http.app import Json, TestApp, open_test_app
from tests.http.conftest import seed
from tests.linked_entities import LINKED


@pytest.fixture
async def shop() -> TestApp:
    app = await open_test_app(entities=LINKED)
    await seed(app)
    return app


async def made(app: TestApp, plural: str, whom: str = "acme", **values: object) -> Json:
    answer = await app.call("POST", f"/api/{plural}", as_whom=whom, json=values)
    assert answer.status_code == 201, answer.text
    row: Json = answer.json()["data"]
    return row


async def tags(app: TestApp, number: int, whom: str = "acme") -> list[str]:
    items = [{"name": f"tag {n}"} for n in range(number)]
    answer = await app.call("POST", "/api/tags/batch", as_whom=whom, json={"items": items})
    return [row["id"] for row in answer.json()["data"]["items"]]


async def add(app: TestApp, order: str, *ids: str, whom: str = "acme", **more: Any) -> Any:
    return await app.call("POST", f"/api/orders/{order}/tags", as_whom=whom, json={"ids": list(ids)}, **more)


def errors(answer: Any) -> list[tuple[str, str]]:
    return [(each["field"], each["message"]) for each in answer.json()["error"]["details"]]


@pytest.mark.promise("entities, details: a body replaces the links of a row and keeps their order")
async def test_a_body_replaces_links(shop: TestApp) -> None:
    red, blue, green = await tags(shop, 3)
    order = await made(shop, "orders", title="a", tagIds=[green, red])
    assert order["tagIds"] == [green, red]
    path = f"/api/orders/{order['id']}"
    sent = {**order, "tagIds": [blue, green], "tags": [], "tagsHasMore": False}
    changed = (await shop.call("PUT", path, as_whom="acme", json=sent)).json()["data"]
    assert (changed["tagIds"], changed["version"]) == ([blue, green], 2)
    patched = (await shop.call("PATCH", path, as_whom="acme", json={"title": "b"})).json()["data"]
    assert patched["tagIds"] == [blue, green]
    twice = await shop.call("PATCH", path, as_whom="acme", json={"tagIds": [red, red.upper()]})
    assert (twice.status_code, errors(twice)) == (400, [("tagIds[1]", "is the same id as tagIds[0]")])
    many = await shop.call("PATCH", path, as_whom="acme", json={"countryIds": [str(uuid4()) for _ in range(4)]})
    assert (many.status_code, [field for field, _ in errors(many)]) == (400, ["countryIds"])
    none = await shop.call("PATCH", path, as_whom="acme", json={"tagIds": None})
    assert none.status_code == 400


@pytest.mark.promise("entities, details: a route adds links to a row, and another ends one")
async def test_routes_add_and_end_links(shop: TestApp) -> None:
    red, blue, green = await tags(shop, 3)
    order = (await made(shop, "orders", title="a", tagIds=[red]))["id"]
    added = await add(shop, order, blue, red, blue)
    assert (added.status_code, added.json()["data"]["tagIds"], added.headers["etag"]) == (200, [red, blue], '"2"')
    again = await add(shop, order, red)
    assert (again.status_code, again.json()["data"]["tagIds"], again.json()["data"]["version"]) == (200, [red, blue], 3)
    assert (await add(shop, order, green, headers={"if-match": '"2"'})).status_code == 412
    assert (await add(shop, order, green, headers={"if-match": '"3"'})).status_code == 200
    path = f"/api/orders/{order}"
    ended = await shop.call("DELETE", f"{path}/tags/{red}", as_whom="acme", headers={"if-match": '"4"'})
    assert (ended.status_code, ended.content) == (204, b"")
    row = (await shop.call("GET", path, as_whom="acme")).json()["data"]
    assert (row["tagIds"], row["version"]) == ([blue, green], 5)
    lines = (await shop.call("GET", f"{path}/history", as_whom="acme")).json()["data"]["items"]
    assert [line["version"] for line in lines] == [5, 4, 3, 2, 1]


async def test_routes_refuse_what_is_absent(shop: TestApp) -> None:
    red, blue = await tags(shop, 2)
    (foreign,) = await tags(shop, 1, "other")
    order = (await made(shop, "orders", title="a", tagIds=[red]))["id"]
    for wrong in (foreign, str(uuid4()), "x"):
        answer = await add(shop, order, blue, wrong)
        assert (answer.status_code, errors(answer)) == (400, [("ids", "refers to nothing that exists")])
    assert (await add(shop, str(uuid4()), red)).status_code == 404
    assert (await add(shop, order, red, whom="other")).status_code == 404
    assert (await add(shop, order)).status_code == 400
    for target in (blue, foreign, "x"):
        gone = await shop.call("DELETE", f"/api/orders/{order}/tags/{target}", as_whom="acme")
        assert gone.status_code == 404
    assert (await shop.call("GET", f"/api/orders/{order}", as_whom="acme")).json()["data"]["version"] == 1


async def test_routes_keep_the_limit_and_the_rule(shop: TestApp) -> None:
    ids = await tags(shop, 3)
    bundle = (await made(shop, "bundles", name="a", tagIds=ids[:2]))["id"]
    answer = await shop.call("POST", f"/api/bundles/{bundle}/tags", as_whom="acme", json={"ids": ids[2:]})
    assert (answer.status_code, errors(answer)) == (422, [("tagIds", "may be two at most")])
    order = (await made(shop, "orders", title="a"))["id"]
    many = await tags(shop, 101)
    assert (await add(shop, order, *many[:100])).status_code == 200
    over = await add(shop, order, many[100])
    assert (over.status_code, errors(over)) == (400, [("ids", "would make 101 links: a row has at most 100")])


@pytest.mark.promise("entities, details: rows with links are never answered by 304, as links end with their targets")
async def test_a_row_with_links_is_always_sent(shop: TestApp) -> None:
    (red,) = await tags(shop, 1)
    order = await made(shop, "orders", title="a", tagIds=[red])
    path, known = f"/api/orders/{order['id']}", {"if-none-match": '"1"'}
    await shop.call("DELETE", f"/api/tags/{red}", as_whom="acme")
    answer = await shop.call("GET", path, as_whom="acme", headers=known)
    assert (answer.status_code, answer.json()["data"]["tagIds"]) == (200, [])
    (tag,) = await tags(shop, 1)
    assert (await shop.call("GET", f"/api/tags/{tag}", as_whom="acme", headers=known)).status_code == 304


async def test_routes_need_the_permissions_of_the_row_and_the_field(shop: TestApp) -> None:
    (red,) = await tags(shop, 1)
    order = (await made(shop, "orders", title="a"))["id"]
    await shop.make_role("acme", "Onlooker", ["read:orders"])
    await shop.make_role("acme", "Clerk", ["read:orders", "update:orders"])
    for name in ("Onlooker", "Clerk"):
        await shop.make_user("acme", f"{name.lower()}@acme.example", [name])
        await shop.login(name, f"{name.lower()}@acme.example")
    assert (await add(shop, order, red, whom="Onlooker")).status_code == 403
    assert (await add(shop, order, red, whom="Clerk")).status_code == 200
    closed = await shop.call("POST", f"/api/orders/{order}/countries", as_whom="Clerk", json={"ids": [red]})
    assert (closed.status_code, [field for field, _ in errors(closed)]) == (403, ["countryIds"])
    seen = await shop.call("GET", "/api/orders?tags.name=x", as_whom="Clerk")
    assert seen.status_code == 403


async def test_entities_and_schemas_describe_links(shop: TestApp) -> None:
    entities = (await shop.call("GET", "/api/entities", as_whom="acme")).json()["data"]["entities"]
    orders = next(each for each in entities if each["plural"] == "orders")
    field = next(each for each in orders["fields"] if each["name"] == "tagIds")
    said = ("kind", "target", "relation", "targetDisplay", "onDelete", "operators", "sortable", "indexed", "default")
    assert [field[name] for name in said] == [
        "links", "tags", "tags", "name", "drop", ["in", "all", "isNull"], False, True, [],
    ]  # fmt: skip
    assert field["rules"] == {"maxLength": 100}
    assert {"name": "tags", "target": "tags", "by": "tagIds", "many": True} in orders["relations"]
    document = (await shop.call("GET", "/docs/v1/openapi.json")).json()
    form = document["components"]["schemas"]["OrderCreate"]["properties"]["tagIds"]
    assert (form["type"], form["maxItems"]) == ("array", 100)
    routes = document["paths"]
    assert {"post"} <= routes["/api/orders/{id}/tags"].keys()
    assert {"delete"} <= routes["/api/orders/{id}/tags/{target}"].keys()
    assert any("tagIds" in str(each) for each in routes["/api/orders"]["get"]["parameters"])


async def test_operations_link_rows_that_they_create(shop: TestApp) -> None:
    (red,) = await tags(shop, 1)
    sent: list[Json] = [
        {"op": "create", "entity": "tags", "as": "t", "values": {"name": "new"}},
        {"op": "create", "entity": "boxes", "as": "b", "values": {"name": "inner"}},
        {"op": "create", "entity": "boxes", "values": {"name": "outer", "boxIds": [{"$id": "b"}]}},
        {"op": "create", "entity": "orders", "values": {"title": "a", "tagIds": [red, {"$id": "t"}]}},
    ]
    answer = await shop.call("POST", "/api/operations", as_whom="acme", json={"operations": sent})
    assert answer.status_code == 200, answer.text
    tag, inner, outer, order = answer.json()["data"]["results"]
    assert (outer["boxIds"], order["tagIds"]) == ([inner["id"]], [red, tag["id"]])
    sent[3]["values"] = {"title": "b", "tagIds": [{"$id": "b"}, {"$id": "x"}]}
    refused = await shop.call("POST", "/api/operations", as_whom="acme", json={"operations": sent})
    assert [field for field, _ in errors(refused)] == ["operations[3].tagIds[0]", "operations[3].tagIds[1]"]
