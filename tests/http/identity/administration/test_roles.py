"""/api/roles on the wire: every field of every answer."""

import pytest

from tests.http.two_tenants import CLERK, TwoTenants


@pytest.mark.promise("GET /api/roles")
@pytest.mark.promise("identity, fields: Role, with userCount in lists")
async def test_roles_are_listed_with_their_holders(tenants: TwoTenants) -> None:
    listed = (await tenants.call("admin", "GET", "/api/roles")).json()
    assert listed.keys() == {"items"}
    roles = {role["name"]: role for role in listed["items"]}
    assert roles.keys() == {"Admin", "Clerk", "Member", "Reader", "SuperAdmin"}
    assert roles["Clerk"].keys() == {"id", "name", "description", "permissions", "isSystem", "userCount", "may"}
    assert (roles["Clerk"]["userCount"], roles["Clerk"]["isSystem"], roles["Admin"]["isSystem"]) == (1, False, True)
    assert roles["Admin"]["permissions"] == ["*"]


@pytest.mark.parametrize(
    ("caller", "target", "given"),
    [
        ("admin", "Reader", {"change", "rename", "remove"}),
        ("admin", "Admin", set()),
        ("keeper", "Spare", {"change", "rename", "remove"}),
        ("keeper", "Reader", {"change"}),
        ("root in acme", "Reader", {"change", "rename", "remove"}),
        ("root in acme", "Member", {"change"}),
        ("root in acme", "SuperAdmin", set()),
        ("looker", "Spare", set()),
    ],
)
async def test_a_role_lists_the_actions_allowed_to_the_caller(
    tenants: TwoTenants, caller: str, target: str, given: set[str]
) -> None:
    await tenants.make_role("Spare", "acme", ["read:users"])
    for name, permissions in (("keeper", [*CLERK, "read:roles"]), ("looker", ["read:roles"])):
        await tenants.make_role(name, "acme", permissions)
        await tenants.make_user(name, "acme", [name])
        await tenants.log_in(name, "acme")
    listed = (await tenants.call(caller, "GET", "/api/roles")).json()["items"]
    (role,) = [role for role in listed if role["name"] == target]
    assert {name for name, is_given in role["may"].items() if is_given} == given
    for right, method, body in (
        ("change", "PUT", {"description": "another"}),
        ("rename", "PUT", {"name": "Another"}),
        ("remove", "DELETE", None),
    ):
        answer = await tenants.call(caller, method, f"/api/roles/{role['id']}", body)
        assert answer.is_success == (right in given), (right, answer.text)


async def test_a_new_description_of_a_role_revokes_no_tokens(tenants: TwoTenants) -> None:
    path = f"/api/roles/{tenants.roles['Clerk']}"
    me, permissions = "/api/auth/me", (await tenants.call("admin", "GET", "/api/roles")).json()["items"]
    held = next(role["permissions"] for role in permissions if role["name"] == "Clerk")
    same = {"name": "Clerk", "description": "serves at the counter", "permissions": held}
    assert (await tenants.call("admin", "PUT", path, same)).status_code == 200
    assert (await tenants.call("clerk", "GET", me)).status_code == 200
    assert (await tenants.call("admin", "PUT", path, {"permissions": []})).status_code == 200
    stale = await tenants.call("clerk", "GET", me)
    assert (stale.status_code, stale.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def test_a_role_holds_500_permissions_and_no_more(tenants: TwoTenants) -> None:
    names = [f"a:b{number}" for number in range(501)]
    more = await tenants.call("admin", "POST", "/api/roles", {"name": "Many", "permissions": names})
    assert (more.status_code, [error["field"] for error in more.json()["errors"]]) == (400, ["permissions"])
    most = await tenants.call("admin", "POST", "/api/roles", {"name": "Many", "permissions": names[:500]})
    assert most.status_code == 201, most.text


async def test_a_new_role_fits_the_tokens_of_its_holders(tenants: TwoTenants) -> None:
    names = [f"{'a' * 30}:b{number}" for number in range(400)]
    asked = {"name": "Long", "permissions": names}
    refused = await tenants.call("admin", "POST", "/api/roles", asked)
    (error,) = refused.json()["errors"]
    assert (refused.status_code, error["field"]) == (400, "permissions")
    assert "more than a token can carry" in error["message"]
    assert (await tenants.call("admin", "POST", "/api/roles", asked | {"permissions": names[:100]})).status_code == 201


@pytest.mark.promise("POST /api/roles")
@pytest.mark.promise("PUT /api/roles/{role_id}")
@pytest.mark.promise("DELETE /api/roles/{role_id}")
async def test_a_role_is_made_changed_and_deleted(tenants: TwoTenants) -> None:
    body = {"name": "New", "description": "for a test", "permissions": ["read:users", "read:*"]}
    made = await tenants.call("admin", "POST", "/api/roles", body)
    data = made.json()["data"]
    assert (made.status_code, made.headers["Location"]) == (201, f"/api/roles/{data['id']}")
    listed = (await tenants.call("admin", "GET", "/api/roles")).json()["items"]
    read = await tenants.call("admin", "GET", made.headers["Location"])
    assert read.json()["data"] == next(role for role in listed if role["id"] == data["id"])
    assert data["permissions"] == ["read:*"]
    changed = await tenants.call("admin", "PUT", f"/api/roles/{data['id']}", {**body, "permissions": []})
    assert (changed.status_code, changed.json()["data"]["permissions"]) == (200, [])
    gone = await tenants.call("admin", "DELETE", f"/api/roles/{data['id']}")
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})


@pytest.mark.promise("GET /api/roles/{role_id}")
async def test_a_role_of_another_tenant_cannot_be_read(tenants: TwoTenants) -> None:
    for name, status in (("Reader", 200), ("Clerk", 200), ("Foreign", 404)):
        answer = await tenants.call("admin", "GET", f"/api/roles/{tenants.roles[name]}")
        assert answer.status_code == status, name
    assert (await tenants.call("admin", "GET", f"/api/roles/{tenants.users['admin']}")).status_code == 404
    assert (await tenants.call("member", "GET", f"/api/roles/{tenants.roles['Reader']}")).status_code == 403


async def test_a_tenants_role_is_changed_though_the_system_has_one_of_its_name(tenants: TwoTenants) -> None:
    path = f"/api/roles/{tenants.roles['Clerk']}"
    assert (await tenants.call("root", "POST", "/api/roles", {"name": "CLERK", "permissions": []})).status_code == 201
    bodies: list[dict[str, object]] = [{"description": "y"}, {"permissions": []}, {}, {"name": "clerk"}]
    for body in bodies:
        changed = await tenants.call("admin", "PUT", path, body)
        assert changed.status_code == 200, changed.text
    other = (await tenants.call("admin", "POST", "/api/roles", {"name": "Other", "permissions": []})).json()["data"]
    taken = await tenants.call("admin", "PUT", f"/api/roles/{other['id']}", {"name": "Clerk"})
    assert taken.status_code == 409


async def test_a_role_that_cannot_be_deleted_reports_its_possible_holders(tenants: TwoTenants) -> None:
    made = (await tenants.call("root", "POST", "/api/roles", {"name": "Auditor", "permissions": []})).json()["data"]
    program = {"name": "Nightly import", "roles": ["Auditor"]}
    assert (await tenants.call("admin", "POST", "/api/service-accounts", program)).status_code == 201
    listed = (await tenants.call("root", "GET", "/api/roles")).json()["items"]
    assert [role["userCount"] for role in listed if role["id"] == made["id"]] == [0]
    refused = await tenants.call("root", "DELETE", f"/api/roles/{made['id']}")
    assert refused.status_code == 409
    assert "members of tenants or service accounts" in refused.json()["errorMessage"]


async def test_a_role_name_follows_the_rules_of_other_names(tenants: TwoTenants) -> None:
    made = await tenants.call("admin", "POST", "/api/roles", {"name": "New", "permissions": []})
    for name in ("Line\u2028break", "Para\u2029graph", "Line\nbreak", "\u2800"):
        for method, path in (("POST", "/api/roles"), ("PUT", f"/api/roles/{made.json()['data']['id']}")):
            refused = await tenants.call("admin", method, path, {"name": name})
            assert (refused.status_code, [error["field"] for error in refused.json()["errors"]]) == (400, ["name"])


async def test_all_wrong_fields_of_a_change_are_named(tenants: TwoTenants) -> None:
    made = await tenants.call("admin", "POST", "/api/roles", {"name": "New", "permissions": []})
    body = {"name": " New ", "description": "d" * 5_000, "permissions": ["not a permission"]}
    changed = await tenants.call("admin", "PUT", f"/api/roles/{made.json()['data']['id']}", body)
    assert changed.status_code == 400
    assert [error["field"] for error in changed.json()["errors"]] == ["name", "description", "permissions[0]"]
