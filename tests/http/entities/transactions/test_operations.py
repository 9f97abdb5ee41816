"""``POST /api/operations``: permissions, bodies, names of failures, and bounds."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio
from msgspec import Struct

from adapters.http.request.body import ENTITY_BODY
from application.entities.transactions.reading import MOST_OPERATIONS, NO_CREATE
from domain.entities.catalogue import Category, Product, Review
from domain.entities.markers import entity, guarded, money, ref, unique
from domain.entities.query.query import Operator
from domain.entities.rules import OtherRows, where
from domain.errors import FieldError
from tests.http.app import Json, TestApp, open_test_app
from tests.http.conftest import seed

PATH = "/api/operations"
UNKNOWN = "0198c0de-0000-7000-8000-000000000000"


def create(plural: str, name: str | None = None, /, **values: object) -> Json:
    return {"op": "create", "entity": plural, "values": values} | ({} if name is None else {"as": name})


def lamp(sku: str, **more: object) -> Json:
    return create("products", None, name="Lamp", sku=sku, price=1, **more)


async def apply(app: TestApp, *operations: object, whom: str = "acme", **more: Any) -> httpx.Response:
    return await app.call("POST", PATH, as_whom=whom, json={"operations": list(operations)}, **more)


async def results(app: TestApp, *operations: object, whom: str = "acme", **more: Any) -> list[Any]:
    answer = await apply(app, *operations, whom=whom, **more)
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json()["data"]["results"]
    return found


async def refusal(app: TestApp, *operations: object, whom: str = "acme", **more: Any) -> tuple[int, list[str]]:
    answer = await apply(app, *operations, whom=whom, **more)
    return answer.status_code, [detail["field"] for detail in answer.json()["error"].get("details", [])]


async def message(app: TestApp, *operations: object) -> str:
    answer = await apply(app, *operations)
    text: str = answer.json()["error"]["details"][0]["message"]
    return text


@pytest.mark.promise("POST /api/operations: an order with its lines, in one request")
async def test_a_row_and_its_dependents_are_created_in_one_request(app: TestApp) -> None:
    product, *reviews, changed, deleted = await results(
        app,
        create("products", "p", name="Lamp", sku="LAMP-1", price="9.50"),
        *(create("reviews", None, productId={"$id": "p"}, rating=rating, author="Ada") for rating in (4, 5)),
        {"op": "update", "entity": "products", "id": {"$id": "p"}, "version": 1, "values": {"stock": 2}},
        {"op": "delete", "entity": "products", "id": {"$id": "p"}},
    )
    assert [review["productId"] for review in reviews] == [product["id"]] * 2
    assert (product["price"], changed["stock"], changed["version"], deleted) == (9.5, 2, 2, None)
    restored = {"op": "restore", "entity": "products", "id": product["id"], "version": 3}
    assert (await results(app, restored))[0]["version"] == 4
    listed = (await app.call("GET", "/api/reviews", as_whom="acme")).json()["data"]
    assert listed["totalCount"] == 2


@pytest.mark.promise("POST /api/operations: each operation needs the permission of its single-row form")
async def test_each_operation_needs_the_permission_of_its_single_form(app: TestApp) -> None:
    (row,) = await results(app, lamp("LAMP-1"))
    operations = {
        "create": lamp("LAMP-2"),
        "update": {"op": "update", "entity": "products", "id": row["id"], "values": {}},
        "delete": {"op": "delete", "entity": "products", "id": row["id"]},
        "restore": {"op": "restore", "entity": "products", "id": row["id"]},
    }
    for held in ("create", "update", "delete"):
        await app.make_role("acme", held, [f"{held}:products"])
        await app.make_user("acme", f"{held}@acme.example", [held])
        await app.login(held, f"{held}@acme.example")
        for op, operation in operations.items():
            needed = "delete" if op == "restore" else op
            status, fields = await refusal(app, create("categories", None, name="C"), operation, whom=held)
            assert (status, fields) == (403, [f"operations[{n}]" for n in range(2 if needed != held else 1)])
        await results(app, operations[held], whom=held)
        if held == "delete":
            await results(app, operations["restore"], whom=held)
    shared = create("currencies", None, code="EUR", name="Euro")
    assert await refusal(app, shared) == (403, ["operations[0]"])
    await results(app, shared, whom="root")


async def test_a_malformed_body_is_400_for_every_caller(app: TestApp) -> None:
    bodies: list[object] = [{}, {"operations": []}, {"operations": {}}, {"operations": 1, "x": 1}, []]
    for whom in ("acme", "reader"):
        for body in bodies:
            answer = await app.call("POST", PATH, as_whom=whom, json=body)
            assert answer.status_code == 400, answer.text
        empty = await app.call("POST", PATH, as_whom=whom, headers={"Content-Type": "application/json"})
        assert empty.status_code == 400
    assert (await app.call("POST", PATH, json={})).status_code == 401
    assert await refusal(app, *[lamp("L")] * (MOST_OPERATIONS + 1)) == (400, ["operations"])
    await results(app, *(lamp(f"L-{n}") for n in range(MOST_OPERATIONS)))


@pytest.mark.promise("POST /api/operations: every failing field is named, as operations[2].price")
async def test_every_invalid_member_is_named(app: TestApp) -> None:
    operations: list[Any] = [
        1,
        {},
        {"op": "drop", "entity": "lamps"},
        {"op": ["create"], "entity": {"a": 1}},
        {"op": "create", "entity": "audit-events", "values": {}},
        {"op": "restore", "entity": "currencies", "id": UNKNOWN},
        {"op": "create", "entity": "products", "id": UNKNOWN, "as": "", "values": {"prise": 1}},
        {"op": "update", "entity": "products", "version": 0, "values": 1},
        {"op": "delete", "entity": "products", "id": 1, "as": "a", "values": {}, "version": 2**31},
        {"op": "update", "entity": "products", "id": UNKNOWN, "values": {"id": "x", "price": -1}},
    ]
    status, fields = await refusal(app, *operations, whom="root in acme")
    assert status == 400
    assert fields == [
        "operations[0]",
        *("operations[1].entity", "operations[1].op", "operations[2].entity", "operations[2].op"),
        *("operations[3].entity", "operations[3].op", "operations[4].entity", "operations[5].op"),
        *(f"operations[6].{name}" for name in ("id", "name", "sku", "price", "prise", "as")),
        *("operations[7].version", "operations[7].id", "operations[7].values"),
        *("operations[8].as", "operations[8].values", "operations[8].version", "operations[8].id"),
        *("operations[9].id", "operations[9].price"),
    ]


@pytest.mark.promise("POST /api/operations: $id names an earlier create, and nothing else")
async def test_only_an_earlier_create_of_the_entity_can_be_named(app: TestApp) -> None:
    first = create("products", "a", name="A", sku="AAA", price=1, categoryId={"$id": "c"})
    later = create("categories", "c", name="C")
    itself = create("categories", "c", name="C", description={"$id": "c"})
    assert await refusal(app, first, later) == (400, ["operations[0].categoryId"])
    assert await message(app, first, later) == NO_CREATE
    assert await refusal(app, itself) == (400, ["operations[0].description"])
    for given in ({"$id": "x"}, {"$id": 1}, {"$id": ["c"]}, {"$id": "c", "x": 1}, {"$id": None}):
        product = {**first, "values": {**first["values"], "categoryId": given}}
        assert await refusal(app, later, product) == (400, ["operations[1].categoryId"])
        change = {"op": "update", "entity": "categories", "id": given, "values": {}}
        assert await refusal(app, later, change) == (400, ["operations[1].id"])
    twice = later, create("categories", "c", name="D")
    assert await refusal(app, *twice) == (400, ["operations[1].as"])
    other = create("reviews", None, productId={"$id": "c"}, rating=1, author="A")
    assert await message(app, later, other) == "names a row of categories, and must be one of products"
    deletion = {"op": "delete", "entity": "products", "id": {"$id": "c"}}
    assert await refusal(app, later, deletion) == (400, ["operations[1].id"])
    assert len(await results(app, later, first)) == 2


async def test_rows_that_name_each_other_in_a_circle_are_refused() -> None:
    app = await open_test_app(entities=[Node])
    await seed(app)
    circle = create("nodes", "a", nextId={"$id": "b"}), create("nodes", "b", nextId={"$id": "a"})
    assert await refusal(app, *circle) == (400, ["operations[0].nextId"])
    itself = create("nodes", "a", nextId={"$id": "a"})
    assert await refusal(app, itself) == (400, ["operations[0].nextId"])
    a, b, closed = await results(
        app,
        create("nodes", "a"),
        create("nodes", "b", nextId={"$id": "a"}),
        {"op": "update", "entity": "nodes", "id": {"$id": "a"}, "values": {"nextId": {"$id": "b"}}},
    )
    assert (b["nextId"], closed["nextId"]) == (a["id"], b["id"])
    await app.client.aclose()


@entity("nodes")
class Node(Struct, rename="camel", kw_only=True):
    next_id: Annotated[UUID | None, ref("nodes", on_delete="clear")] = None


@entity("orders", unique=[unique("number"), unique("code")])
class Order(Struct, rename="camel", kw_only=True):
    """An order needs a line, and its margin is closed to most callers."""

    number: str
    code: str | None = None
    margin: Annotated[int, guarded(read="read:margins", write="write:margins")] = 0

    async def check_stored(self, _before: "Order | None", rows: OtherRows) -> AsyncIterator[FieldError]:
        if not await rows.count(Line, where("title", Operator.EQ, self.number)):
            yield FieldError("number", "needs a line")
        if self.margin > 9:
            yield FieldError("margin", "is too high")


@entity("lines")
class Line(Struct, rename="camel", kw_only=True):
    order_id: Annotated[UUID, ref("orders", on_delete="cascade")]
    title: str


@pytest_asyncio.fixture
async def orders() -> AsyncIterator[TestApp]:
    app = await open_test_app(entities=[Order, Line])
    await seed(app)
    await app.make_role("acme", "Clerk", ["*:orders", "*:lines"])
    await app.make_user("acme", "clerk@acme.example", ["Clerk"])
    await app.login("clerk", "clerk@acme.example")
    yield app
    await app.client.aclose()


@pytest.mark.promise(
    "POST /api/operations: a rule on other rows sees all rows of the request, so an order can require a line"
)
async def test_an_order_can_require_a_line(orders: TestApp) -> None:
    order = create("orders", "o", number="N1")
    assert await refusal(orders, order) == (422, ["operations[0].number"])
    assert (await orders.call("POST", "/api/orders", as_whom="acme", json={"number": "N1"})).status_code == 422
    stored, line = await results(orders, order, create("lines", None, orderId={"$id": "o"}, title="N1"))
    removed = {"op": "delete", "entity": "lines", "id": line["id"]}
    renamed = {"op": "update", "entity": "orders", "id": stored["id"], "values": {"number": "N2"}}
    assert await refusal(orders, removed, renamed) == (422, ["operations[1].number"])


@pytest.mark.promise("POST /api/operations: guarded fields stay closed in bodies, results and errors")
async def test_guarded_fields_stay_closed(orders: TestApp) -> None:
    line = create("lines", None, orderId={"$id": "o"}, title="N1")
    (stored, _) = await results(orders, create("orders", "o", number="N1", margin=9), line)
    assert stored["margin"] == 9
    sent = create("orders", "o", number="N2", margin=3)
    assert await refusal(orders, sent, line, whom="clerk") == (400, ["operations[0].margin"])
    change = {"op": "update", "entity": "orders", "id": stored["id"], "values": {"code": "C"}}
    (shown,) = await results(orders, change, whom="clerk")
    assert "margin" not in shown
    too_high = {**change, "values": {"margin": 10}}
    assert await refusal(orders, too_high) == (422, ["operations[0].margin"])


async def test_the_same_404_for_a_row_of_another_tenant(app: TestApp) -> None:
    (theirs,) = await results(app, lamp("LAMP-1"), whom="other")
    for op in ("update", "delete", "restore"):
        values: Json = {"values": {}} if op == "update" else {}
        answers = [
            await apply(app, {"op": op, "entity": "products", "id": row_id, "version": 1, **values})
            for row_id in (theirs["id"], UNKNOWN, "x")
        ]
        assert {answer.status_code for answer in answers} == {404}
        assert len({str(answer.json()["error"]["details"]) for answer in answers}) == 1
    review = create("reviews", None, productId=theirs["id"], rating=1, author="A")
    assert await refusal(app, review) == (400, ["operations[0].productId"])
    scope = {"X-Tenant-Scope": (await app.call("GET", "/api/tenants/current", as_whom="other")).json()["data"]["id"]}
    (changed,) = await results(
        app,
        {"op": "update", "entity": "products", "id": theirs["id"], "values": {"stock": 1}},
        whom="root",
        headers=scope,
    )
    assert changed["stock"] == 1
    assert await refusal(app, lamp("L"), whom="root", headers={"X-Tenant-Scope": "all"}) == (400, [])
    assert await refusal(app, lamp("L"), headers=scope) == (403, [])


@pytest.mark.promise("POST /api/operations: Idempotency-Key covers the whole request")
async def test_a_key_covers_the_whole_request(app: TestApp) -> None:
    key = {"Idempotency-Key": "k"}
    first, again = [await apply(app, lamp("LAMP-1"), lamp("LAMP-2"), headers=key) for _ in range(2)]
    assert first.json()["data"] == again.json()["data"]
    assert (first.headers.get("Idempotent-Replayed"), again.headers["Idempotent-Replayed"]) == (None, "true")
    assert await refusal(app, lamp("LAMP-1"), headers=key) == (422, [])
    assert await refusal(app, lamp("LAMP-1"), headers={"Idempotency-Key": "l"}) == (409, ["operations[0].sku"])
    together = await asyncio.gather(*(apply(app, lamp("LAMP-3"), headers={"Idempotency-Key": "m"}) for _ in range(5)))
    assert {answer.status_code for answer in together} == {200}


@pytest.mark.promise("POST /api/operations: at most 100 operations and 1 MiB, 60 requests a minute")
async def test_a_body_may_have_one_mebibyte(app: TestApp) -> None:
    text = "x" * 9_990
    filled = [lamp(f"L-{n:03}", description=text) for n in range(MOST_OPERATIONS)]
    assert len(await results(app, *filled)) == MOST_OPERATIONS
    answer = await apply(app, *filled, "x" * (ENTITY_BODY - 100 * len(text)))
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert answer.headers["X-RateLimit-Limit"] == "60"


@entity("order-lines")
class OrderLine(Struct, rename="camel", kw_only=True):
    order_id: Annotated[UUID, ref("orders", on_delete="cascade")]
    title: str
    price: Annotated[Decimal, money(12, 2)]


@entity("orders")
class PlainOrder(Struct, rename="camel", kw_only=True):
    number: str


async def test_the_examples_of_the_document_are_right() -> None:
    page = (Path(__file__).parents[4] / "docs" / "operations.md").read_text("utf-8")
    order, products = (json.loads(body) for body in re.findall(r"--json '([^']+)'", page))
    app = await open_test_app(entities=[PlainOrder, OrderLine, Category, Product, Review])
    await seed(app)
    assert len((await app.call("POST", PATH, as_whom="acme", json=order)).json()["data"]["results"]) == 3
    await results(app, lamp("LAMP-01"))
    done = (await app.call("POST", "/api/products/batch/upsert", as_whom="acme", json=products)).json()["data"]
    assert (done["created"], done["updated"]) == (1, 1)
    await app.client.aclose()


async def test_a_single_conflict_has_the_message_of_its_single_form(app: TestApp) -> None:
    await results(app, lamp("LAMP-1"))
    answer = await apply(app, lamp("LAMP-1"))
    assert answer.json()["error"]["message"] == "sku: is taken already."
    (row,) = await results(app, lamp("LAMP-2"))
    restored = {"op": "restore", "entity": "products", "id": row["id"]}
    answer = await apply(app, restored)
    details = [{"field": "operations[0]", "message": "It is not deleted."}]
    assert (answer.status_code, answer.json()["error"]["details"]) == (409, details)
