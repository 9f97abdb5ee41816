"""Rows that all tenants share: an Admin of a tenant reads them, and changes none by any way."""

import json

from msgspec import Struct

from tenantry import entity
from tests.http.app import ADMIN, Json, open_test_app
from tests.http.conftest import seed
from tests.http.served import served_by


@entity("signs", tenant_owned=False)
class Sign(Struct, rename="camel", kw_only=True):
    name: str


BODIES: dict[tuple[str, str], Json | None] = {
    ("POST", "/api/signs"): {"name": "No"},
    ("PUT", "/api/signs/{id}"): {"name": "No"},
    ("PATCH", "/api/signs/{id}"): {"name": "No"},
    ("DELETE", "/api/signs/{id}"): None,
    ("DELETE", "/api/signs/{id}?permanent=true"): None,
    ("POST", "/api/signs/{id}/restore"): None,
    ("POST", "/api/signs/batch"): {"items": [{"name": "No"}]},
    ("PUT", "/api/signs/batch"): {"items": [{"id": "{id}", "name": "No"}]},
    ("DELETE", "/api/signs/batch"): {"ids": ["{id}"]},
    ("POST", "/api/signs/batch/delete"): {"ids": ["{id}"]},
    ("POST", "/api/signs/import"): None,
}


def filled(value: Json | None, row_id: str) -> Json | None:
    return None if value is None else json.loads(json.dumps(value).replace("{id}", row_id))


async def test_nobody_but_a_super_admin_writes_a_shared_row_by_any_way() -> None:
    app = await open_test_app(entities=[Sign])
    await seed(app)
    await app.login("root", ADMIN)
    row_id = (await app.call("POST", "/api/signs", as_whom="root", json={"name": "Yes"})).json()["data"]["id"]
    writing = {
        (served.method, served.path)
        for served in served_by(app.services)
        if served.path.startswith("/api/signs") and served.rules.is_write
    }
    assert writing == {(method, path.partition("?")[0]) for method, path in BODIES}
    for (method, path), body in BODIES.items():
        sent: Json = {"json": filled(body, row_id)} if body is not None else {}
        if path.endswith("import"):
            sent = {"files": {"file": ("signs.csv", b"name\nNo\n")}}
        answer = await app.call(method, path.format(id=row_id), as_whom="acme", **sent)
        assert answer.status_code == 403, (method, path, answer.text)
    row = (await app.call("GET", f"/api/signs/{row_id}", as_whom="acme")).json()["data"]
    assert (row["name"], row["version"]) == ("Yes", 1)
    assert (await app.call("GET", "/api/signs", as_whom="acme")).json()["data"]["totalCount"] == 1
    await app.client.aclose()
