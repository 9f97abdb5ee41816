"""/api/permissions on the wire: every field of every answer."""

import pytest

from tests.http.two_tenants import TwoTenants


@pytest.mark.promise("GET /api/permissions")
@pytest.mark.promise("POST /api/permissions")
@pytest.mark.promise("identity, fields: Permission")
async def test_permissions_are_listed_and_made(tenants: TwoTenants) -> None:
    body = {"name": "paint:walls", "description": "with a brush", "category": "painting"}
    made = await tenants.call("root", "POST", "/api/permissions", body)
    assert (made.status_code, made.json()["data"].keys()) == (201, {"id", "name", "description", "category"})
    listed = (await tenants.call("admin", "GET", "/api/permissions")).json()
    assert listed.keys() == {"items"}
    names = [permission["name"] for permission in listed["items"]]
    assert names == sorted(names)
    assert {"paint:walls", "read:users", "create:products", "delete:reviews"} <= set(names)
    assert (await tenants.call("root", "POST", "/api/permissions", body)).status_code == 409
