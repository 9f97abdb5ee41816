"""Copies of fields belong to the table alone: no answer, file, history or document tells of them."""

import pytest

from tests.http.app import TestApp

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
async def test_no_answer_tells_of_the_copy(app: TestApp) -> None:
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
async def test_the_copy_is_no_field_of_bodies_filters_and_orders(app: TestApp) -> None:
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
