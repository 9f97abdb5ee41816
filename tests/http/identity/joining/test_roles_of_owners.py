"""Roles that owners hold, and keys that appoint owners."""

import pytest

from tests.http.identity.joining.invited import Invited, told
from tests.http.identity.joining.test_ownership import own, owners
from tests.http.identity.service_accounts.service_accounts import make_account, make_key


@pytest.mark.promise("tenants, owners: the last owner neither leaves nor is removed, deleted, disabled or demoted")
@pytest.mark.parametrize(
    "body",
    [
        {"permissions": []},
        {"permissions": ["read:users", "update:users"]},
        {"permissions": ["*:users"], "name": "Chief"},
        {"permissions": ["read:*"]},
    ],
)
async def test_only_owners_and_super_admins_can_weaken_a_role_of_an_owner(invited: Invited, body: object) -> None:
    tenants = invited.tenants
    await tenants.make_role("Boss", "acme", ["*"])
    await tenants.make_user("boss", "acme", ["Boss"])
    await tenants.log_in("boss", "acme")
    await own(invited, "boss")
    path = f"/api/roles/{tenants.roles['Boss']}"
    assert told(await tenants.call("admin", "PUT", path, body))[:2] == (403, "FORBIDDEN")
    assert told(await tenants.call("admin", "DELETE", path))[:2] == (409, "CONFLICT")
    for kept in ({"description": "owns the tenant"}, {"name": "Chief"}, {"permissions": ["*:*", "read:users"]}):
        assert (await tenants.call("admin", "PUT", path, kept)).status_code == 200, kept
    await tenants.log_in("boss", "acme")
    assert (await tenants.call("boss", "GET", "/api/users")).status_code == 200
    # A role that no owner holds stays with the Admins.
    assert (await tenants.call("admin", "PUT", f"/api/roles/{tenants.roles['Clerk']}", {"permissions": []})).is_success
    assert (await tenants.call("root in acme", "PUT", path, body)).is_success
    assert (await tenants.call("root in acme", "PUT", path, {"permissions": ["*"]})).is_success
    await own(invited, "admin")
    assert (await tenants.call("admin", "PUT", path, body)).is_success


@pytest.mark.promise("PUT /api/tenants/{tenant_id}/users/{user_id}")
@pytest.mark.promise("keys, impersonation: a key sets no owner and writes no application")
async def test_the_key_of_a_super_admin_sets_no_owner(invited: Invited) -> None:
    account = await make_account(invited.tenants, whom="root", roles=["SuperAdmin"])
    await make_key(invited.tenants, account, whom="root", name="robot")
    path = f"/api/tenants/{invited.tenants.tenants['acme']}/users/{invited.tenants.users['clerk']}"
    assert (await invited.tenants.call("robot", "GET", "/api/tenants")).status_code == 200
    for is_owner in (True, False):
        refused = await invited.tenants.call("robot", "PUT", path, {"isOwner": is_owner})
        assert told(refused)[:2] == (403, "FORBIDDEN")
    assert await owners(invited) == set()
    assert (await own(invited, "clerk")).status_code == 200
