"""``5.0`` is the number 5 to JSON: bodies, batches, files, filters and options take it wherever they take 5.

Copies of fields belong to the table alone: no answer, file, history or document tells of them.

A read without parameters is not parsed, and asks for what an empty query asks for.
"""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from application.entities.queries import EntityQueries
from domain.entities.query.read_query import read_view
from domain.scope import Rights
from entrypoints.assembly.entities import load_registry
from tests.http.app import TestApp
from tests.http.entities.files.test_transfers import send

WRITTEN = ("5.0", "5e0", "0.5E1", "5.00000000000000000000")
LAMP = '{"name": "Lamp", "sku": "LAMP-1", "price": 1, "stock": %s}'


@pytest.mark.parametrize("written", WRITTEN)
async def test_a_whole_number_may_be_written_with_a_point_or_an_exponent(app: TestApp, written: str) -> None:
    headers = {"Content-Type": "application/json"}

    async def sent(method: str, path: str, body: str) -> tuple[int, int]:
        answer = await app.call(method, path, as_whom="acme", content=body, headers=headers)
        data = answer.json()["data"]
        return answer.status_code, (data["items"][0] if "items" in data else data)["stock"]

    assert await sent("POST", "/api/products", LAMP % written) == (201, 5)
    found = await app.call("GET", "/api/products", as_whom="acme", params={"stock": written, "minStock": written})
    (row,) = found.json()["data"]["items"]
    change = f'{{"items": [{{"id": "{row["id"]}", "version": 1.0, "stock": {written}}}]}}'
    assert await sent("PUT", "/api/products/batch", change) == (200, 5)
    assert await sent("PATCH", f"/api/products/{row['id']}", f'{{"stock": {written}}}') == (200, 5)
    batch = LAMP.replace("LAMP-1", "LAMP-2") % written
    assert await sent("POST", "/api/products/batch", f'{{"items": [{batch}]}}') == (200, 5)
    imported = await send(app, f"name,sku,price,stock\r\nCup,CUP-1,1,{written}\r\n")
    assert imported.json()["data"]["imported"] == 1, imported.text
    stocks = await app.call("GET", "/api/products?fields=stock", as_whom="acme")
    assert {item["stock"] for item in stocks.json()["data"]["items"]} == {5}


async def test_a_number_with_a_fraction_is_refused_everywhere(app: TestApp) -> None:
    body = {"name": "Lamp", "sku": "LAMP-1", "price": 1, "stock": 5.5}
    for path, sent, field in (
        ("/api/products", body, "stock"),
        ("/api/products/batch", {"items": [body]}, "items[0].stock"),
    ):
        answer = await app.call("POST", path, as_whom="acme", json=sent)
        assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (400, field)
    assert (await app.call("GET", "/api/products?stock=5.5", as_whom="acme")).status_code == 400
    report = (await send(app, "name,sku,price,stock\r\nCup,CUP-1,1,5.5\r\n")).json()["data"]
    assert (report["imported"], report["errors"][0]["details"][0]["field"]) == (0, "stock")


async def test_settings_of_identity_accept_whole_decimals_as_integers(app: TestApp) -> None:
    path = "/api/tenants/current/settings"
    wrong = await app.call("PUT", path, as_whom="acme", json={"security": {"mfaGraceDays": 3.5, "idleDays": 9.0}})
    assert (wrong.status_code, [error["field"] for error in wrong.json()["errors"]]) == (400, ["security.mfaGraceDays"])
    put = await app.call("PUT", path, as_whom="acme", json={"security": {"mfaGraceDays": 3.0, "idleDays": 9.0}})
    security = put.json()["data"]["security"]
    assert (put.status_code, security["mfaGraceDays"], security["idleDays"]) == (200, 3, 9)


PRODUCT = {"name": "Lamp", "sku": "LAMP-01", "price": 19.9}
PLACES = (
    "/api/products",
    "/api/products?include=category&sort=price",
    "/api/categories?include=products",
    "/api/products?category.name=light&include=category",
    "/api/products/export?format=csv",
    "/api/products/export?format=json",
)


@pytest.mark.promise(
    "declarations, indexes and decimals: the copy comes and goes with its index, and is in no answer, body, filter, "
    "order or document"
)
async def test_no_answer_contains_the_indexed_copy(app: TestApp) -> None:
    category = (await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Light"})).json()["data"]["id"]
    made = await app.call("POST", "/api/products", as_whom="acme", json={**PRODUCT, "categoryId": category})
    path = made.headers["Location"]
    changed = await app.call("PUT", path, as_whom="acme", json={"price": 21})
    answers = [made, changed, *[await app.call("GET", place, as_whom="acme") for place in (path, *PLACES)]]
    assert [answer.status_code for answer in answers] == [201, *[200] * (len(answers) - 1)]
    assert [answer.text for answer in answers if "$" in answer.text or "price" not in answer.text] == []


@pytest.mark.promise(
    "declarations, indexes and decimals: the copy comes and goes with its index, and is in no answer, body, filter, "
    "order or document"
)
async def test_the_indexed_copy_is_refused_in_bodies_filters_and_orders(app: TestApp) -> None:
    for parameters in ("price$e2=1", "sort=price$e2", "fields=price$e2"):
        assert (await app.call("GET", f"/api/products?{parameters}", as_whom="acme")).status_code == 400
    for parameters in ("name$lower=a", "sort=name$lower", "fields=name$lower"):
        assert (await app.call("GET", f"/api/categories?{parameters}", as_whom="acme")).status_code == 400
    sent = await app.call("POST", "/api/products", as_whom="acme", json={**PRODUCT, "price$e2": 1})
    assert sent.status_code == 400


@pytest.mark.promise(
    "declarations, indexes and decimals: the copy comes and goes with its index, and is in no answer, body, filter, "
    "order or document"
)
async def test_the_document_does_not_name_it(app: TestApp) -> None:
    document = (await app.call("GET", "/docs/v1/docs.json")).text
    assert [end for end in ("$e2", "$lower") if end in document] == []


def test_no_parameters_are_an_empty_query() -> None:
    registry = load_registry(("tenantry.catalogue",))
    caller = cast(Any, SimpleNamespace(rights=Rights((), is_super_admin=False), ensure_may=None))
    for model in registry:
        view = EntityQueries(model, registry).view(caller, ())
        hidden = registry.hidden_from(caller.rights) if model.plural == "applications" else frozenset()
        assert view == read_view(model, registry, hidden, ())
