"""Columns of imported files: which ones are taken, passed over and refused."""

from tests.http.app import TestApp
from tests.http.entities.test_transfers import send, skus


async def test_an_upsert_without_a_column_of_its_key_is_refused(app: TestApp) -> None:
    refused = await send(app, "name,price\r\nLamp,1\r\n", options={"mode": "upsert"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert [wrong["field"] for wrong in refused.json()["error"]["details"]] == ["options.key"]
    assert await skus(app) == []
