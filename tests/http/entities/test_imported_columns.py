"""Columns of imported files: which ones are taken, passed over and refused."""

import pytest

from tests.http.app import TestApp
from tests.http.entities.test_transfers import send, skus


async def test_an_upsert_without_a_column_of_its_key_is_refused(app: TestApp) -> None:
    refused = await send(app, "name,price\r\nLamp,1\r\n", options={"mode": "upsert"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert [wrong["field"] for wrong in refused.json()["error"]["details"]] == ["options.key"]
    assert await skus(app) == []


async def test_an_unknown_column_below_a_relation_is_refused(app: TestApp) -> None:
    header = "name,sku,price,category.name,category.nmae,reviews.text"
    refused = await send(app, f"{header}\r\nLamp,LAMP-1,1,Lamps,x,y\r\n")
    assert refused.status_code == 400
    assert [wrong["field"] for wrong in refused.json()["error"]["details"]] == ["category.nmae", "reviews.text"]
    taken = await send(app, "name,sku,price,category.name\r\nLamp,LAMP-1,1,Lamps\r\n")
    assert taken.json()["data"]["imported"] == 1


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
async def test_what_was_exported_with_included_rows_is_imported_again(app: TestApp, form: str) -> None:
    category = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Lamps"})
    body = {"name": "Lamp", "sku": "LAMP-1", "price": 1, "categoryId": category.json()["data"]["id"]}
    await app.call("POST", "/api/products", as_whom="acme", json=body)
    file = await app.call("GET", f"/api/products/export?format={form}&include=category", as_whom="acme")
    again = await send(app, file.content, options={"mode": "upsert"})
    assert (again.status_code, again.json()["data"]["errors"]) == (200, []), again.text


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
async def test_a_column_is_left_out(app: TestApp, form: str) -> None:
    body = {"name": "Lamp", "sku": "LAMP-1", "price": 1, "description": "Old"}
    path = (await app.call("POST", "/api/products", as_whom="acme", json=body)).headers["Location"]
    file = await app.call("GET", f"/api/products/export?format={form}&fields=sku,name,description", as_whom="acme")
    await app.call("PATCH", path, as_whom="acme", json={"name": "Bulb", "description": "New"})
    options = {"mode": "upsert", "columns": {"Description": None}}
    taken = await send(app, file.content, options=options)
    assert (taken.json()["data"]["imported"], taken.json()["data"]["errors"]) == (1, []), taken.text
    row = (await app.call("GET", path, as_whom="acme")).json()["data"]
    assert (row["name"], row["description"]) == ("Lamp", "New")


async def test_a_column_that_is_left_out_is_in_the_file(app: TestApp) -> None:
    refused = await send(app, "name,sku,price\r\nLamp,LAMP-1,1\r\n", options={"columns": {"Remarks": None}})
    assert [wrong["field"] for wrong in refused.json()["error"]["details"]] == ["options.columns.Remarks"]
