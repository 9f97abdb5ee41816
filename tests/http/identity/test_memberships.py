"""/api/tenants/{id}/users on the wire: every field of every answer."""

import pytest

from tests.http.identity.steps import PAGE, log_in
from tests.http.two_tenants import TwoTenants

MEMBERSHIP = {"userId", "tenantId", "roles", "isDefault", "joinedAt"}


@pytest.mark.promise("GET /api/tenants/{tenant_id}/users")
@pytest.mark.promise("POST /api/tenants/{tenant_id}/users")
@pytest.mark.promise("DELETE /api/tenants/{tenant_id}/users/{user_id}")
@pytest.mark.promise("identity, fields: Membership")
async def test_a_membership_is_made_replaced_listed_and_ended(tenants: TwoTenants) -> None:
    path = f"/api/tenants/{tenants.tenants['other']}/users"
    body = {"userId": tenants.users["member"], "roles": ["Member"]}
    made = await tenants.call("root", "POST", path, body)
    assert (made.status_code, made.json()["data"].keys()) == (201, MEMBERSHIP)
    assert (made.json()["data"]["roles"], made.json()["data"]["isDefault"]) == (["Member"], False)
    replaced = await tenants.call("root", "POST", path, {**body, "roles": [], "isDefault": True})
    assert (replaced.status_code, replaced.json()["data"]["roles"]) == (200, [])
    assert replaced.json()["data"]["isDefault"] is True
    listed = (await tenants.call("root", "GET", path)).json()
    assert (listed.keys(), listed["data"].keys()) == ({"isSuccess", "data"}, PAGE)
    assert tenants.users["member"] in [user["id"] for user in listed["data"]["items"]]
    ended = await tenants.call("root", "DELETE", f"{path}/{tenants.users['member']}")
    assert (ended.status_code, ended.json().keys()) == (200, {"isSuccess", "message"})
    assert (await log_in(tenants, "member"))["currentTenant"]["isDefault"] is True


async def test_a_membership_keeps_the_roles_that_are_left_out(tenants: TwoTenants) -> None:
    path = f"/api/tenants/{tenants.tenants['other']}/users"
    member = {"userId": tenants.users["member"]}
    made = await tenants.call("root", "POST", path, member)
    assert (made.status_code, made.json()["data"]["roles"]) == (201, [])
    await tenants.call("root", "POST", path, {**member, "roles": ["Admin", "Member"]})
    moved = await tenants.call("root", "POST", path, {**member, "isDefault": True})
    data = moved.json()["data"]
    assert (moved.status_code, data["isDefault"], data["roles"]) == (200, True, ["Admin", "Member"])
