"""/api/users on the wire: every field of every answer."""

from datetime import datetime, timedelta

import pytest

from adapters.memory.clock import START
from tests.http.app import ADMIN, PASSWORD
from tests.http.identity.factors.steps import PAGE, join, log_in, try_login
from tests.http.two_tenants import TwoTenants, email_of

USER = {"id", "email", "fullName", "roles", "isActive", "createdAt"}
DETAIL = USER | {
    "phoneNumber", "profilePictureUrl", "emailConfirmed", "isLocked", "lockedUntil", "secondFactorsLockedUntil",
    "mustChangePassword", "lastLoginAt", "updatedAt", "tenants", "may",
}  # fmt: skip


@pytest.mark.promise("GET /api/users")
@pytest.mark.promise("GET /api/users/{user_id}")
@pytest.mark.promise("identity, fields: User, as listed and by id")
async def test_users_are_listed_bare_and_read_whole(tenants: TwoTenants) -> None:
    listed = (await tenants.call("admin", "GET", "/api/users?search=CLERK&role=Clerk&isActive=true")).json()
    assert listed.keys() == PAGE
    (clerk,) = listed["items"]
    assert clerk.keys() == USER
    assert (clerk["id"], clerk["roles"], listed["totalCount"]) == (tenants.users["clerk"], ["Clerk"], 1)
    read = (await tenants.call("admin", "GET", f"/api/users/{clerk['id']}")).json()
    assert read.keys() == {"isSuccess", "data"}
    assert read["data"].keys() == DETAIL


@pytest.mark.promise("GET /api/users")
async def test_the_list_of_users_is_ordered_and_clamped(tenants: TwoTenants) -> None:
    asked = "/api/users?sortBy=email&sortDirection=asc&pageSize=500"
    listed = (await tenants.call("admin", "GET", asked)).json()
    emails = [user["email"] for user in listed["items"]]
    assert emails == sorted(emails)
    falling = (await tenants.call("admin", "GET", asked.replace("asc", "desc"))).json()
    assert [user["email"] for user in falling["items"]] == emails[::-1]
    assert (listed["pageSize"], listed["page"], listed["totalPages"]) == (100, 1, 1)
    second = (await tenants.call("admin", "GET", "/api/users?pageSize=2&page=2")).json()
    assert (len(second["items"]), second["totalCount"], second["totalPages"]) == (1, 3, 2)


async def test_a_wrong_sort_name_is_answered_with_the_names_used_in_answers(tenants: TwoTenants) -> None:
    wrong = await tenants.call("admin", "GET", "/api/users?sortBy=passwordHash")
    told = wrong.json()["errors"][0]["message"]
    assert told == "must be one of: createdAt, email, fullName, isActive, lastLoginAt, updatedAt"
    for name in ("fullName", "FULLNAME"):
        assert (await tenants.call("admin", "GET", f"/api/users?sortBy={name}")).status_code == 200


async def test_the_number_of_a_page_has_18_digits_at_most(tenants: TwoTenants) -> None:
    last = await tenants.call("admin", "GET", f"/api/users?page={'9' * 18}")
    assert (last.status_code, last.json()["items"]) == (200, [])
    for wrong in ("9" * 19, "0", "-1", "1.0", "١", ""):
        answer = await tenants.call("admin", "GET", f"/api/users?page={wrong}")
        assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, ["page"]), wrong


@pytest.mark.promise("GET /api/users")
async def test_users_are_found_by_their_ids(tenants: TwoTenants) -> None:
    ids = [tenants.users[name] for name in ("clerk", "member", "stranger")]
    listed = (await tenants.call("admin", "GET", f"/api/users?id={','.join(ids)}")).json()
    assert sorted(user["id"] for user in listed["items"]) == sorted(ids[:2])  # a stranger is in another tenant
    assert listed["totalCount"] == 2
    for wrong in ("", "1", f"{ids[0]},", ",".join(ids[:1] * 101), ids[0].replace("-", "")):
        answer = await tenants.call("admin", "GET", f"/api/users?id={wrong}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "id"), wrong


@pytest.mark.promise("GET /api/users/{user_id}/permissions")
async def test_permissions_of_a_user_list_the_roles_that_grant_them(tenants: TwoTenants) -> None:
    await tenants.make_role("Buyer", "acme", ["read:products", "update:products"])
    path = f"/api/users/{tenants.users['member']}"
    await tenants.call("admin", "POST", f"{path}/roles", {"roleNames": ["Buyer", "Reader"]})
    told = (await tenants.call("admin", "GET", f"{path}/permissions")).json()["data"]["items"]
    assert {held["name"]: [role["name"] for role in held["roles"]] for held in told} == {
        "read:products": ["Buyer", "Reader"],
        "update:products": ["Buyer"],
    }
    assert told[0]["roles"][0] == {"id": tenants.roles["Buyer"], "name": "Buyer", "isSystem": False}


async def test_roles_outside_the_tenant_are_visible_only_to_super_admins(tenants: TwoTenants) -> None:
    joining = {"userId": tenants.users["root"], "roles": ["Reader"]}
    await tenants.call("root", "POST", f"/api/tenants/{tenants.tenants['acme']}/users", joining)
    # what somebody holds has changed: the token of before is refused
    await tenants.app.login("root in acme", ADMIN, tenants.tenants["acme"])
    path = f"/api/users/{tenants.users['root']}/permissions"
    told = {whom: (await tenants.call(whom, "GET", path)).json()["data"]["items"] for whom in ("admin", "root in acme")}
    assert [held["name"] for held in told["admin"]] == ["read:products"]
    assert {"*", "read:products"} <= {held["name"] for held in told["root in acme"]}


@pytest.mark.promise("POST /api/users")
@pytest.mark.promise("PUT /api/users/{user_id}")
@pytest.mark.promise("DELETE /api/users/{user_id}")
@pytest.mark.promise("POST /api/users/{user_id}/roles")
async def test_a_user_is_made_changed_and_deleted(tenants: TwoTenants) -> None:
    body = {"email": "new@acme.example", "password": PASSWORD, "fullName": "New", "roles": ["Reader"]}
    made = await tenants.call("admin", "POST", "/api/users", body)
    data = made.json()["data"]
    assert (made.status_code, made.headers["Location"]) == (201, f"/api/users/{data['id']}")
    assert (data.keys(), data["roles"], data["emailConfirmed"]) == (DETAIL, ["Reader"], True)
    path, change = f"/api/users/{data['id']}", {"phoneNumber": "+49 30 1", "roles": [], "email": "other@acme.example"}
    changed = (await tenants.call("admin", "PUT", path, change)).json()["data"]
    assert (changed["phoneNumber"], changed["roles"], changed["fullName"]) == ("+49 30 1", [], "New")
    assert (changed["email"], changed["emailConfirmed"]) == ("other@acme.example", False)
    short = await tenants.call("admin", "PUT", path, {"fullName": "N"})
    assert short.json()["data"]["fullName"] == "N"
    given = await tenants.call("admin", "POST", f"{path}/roles", {"roleNames": ["Reader"]})
    assert (given.status_code, given.json()["data"]["roles"]) == (200, ["Reader"])
    gone = await tenants.call("admin", "DELETE", path)
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})
    assert (await tenants.call("admin", "GET", path)).status_code == 404


async def test_a_telephone_number_can_be_removed(tenants: TwoTenants) -> None:
    path = f"/api/users/{tenants.users['member']}"
    for number in ("+49 30 1", ""):
        changed = await tenants.call("admin", "PUT", path, {"phoneNumber": number})
        assert (changed.status_code, changed.json()["data"]["phoneNumber"]) == (200, number)


@pytest.mark.promise("identity, administration: unknown role names and users: VALIDATION_ERROR on the field")
async def test_unknown_role_names_are_reported_at_their_field(tenants: TwoTenants) -> None:
    for method, path, body, field in (
        ("POST", f"/api/users/{tenants.users['member']}/roles", {"roleNames": ["X"]}, "roleNames"),
        ("PUT", f"/api/users/{tenants.users['member']}", {"roles": ["X"]}, "roles"),
    ):
        answer = await tenants.call("admin", method, path, body)
        assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, [field])


@pytest.mark.promise("identity, administration: From system, users and roles are as such")
async def test_from_system_users_and_roles_are_as_such(tenants: TwoTenants) -> None:
    """A user made there has no membership, and the roles are held everywhere."""
    new = {"email": "as@such.example", "password": PASSWORD, "fullName": "As Such", "roles": ["Admin"]}
    made = (await tenants.call("root", "POST", "/api/users", new)).json()["data"]
    assert (made["roles"], made["tenants"]) == (["Admin"], [])
    tenants.users["such"] = made["id"]
    await join(tenants, "such", "acme")
    data = await log_in(tenants, "as@such.example")
    assert (data["currentTenant"]["id"], data["permissions"]) == (tenants.tenants["acme"], ["*"])
    assert (await tenants.call("root", "GET", "/api/users?pageSize=100")).json()["totalCount"] == 6


@pytest.mark.promise("POST /api/users/{user_id}/unlock")
@pytest.mark.promise("identity, errors: ACCOUNT_LOCKED 401 on login, 423 elsewhere")
@pytest.mark.promise("identity, passwords: a lock ends by a reset, by an administrator, by the command line")
async def test_a_lock_is_shown_and_lifted(tenants: TwoTenants) -> None:
    wrong = {"email": email_of("member"), "password": "wrong", "isPasswordEncrypted": False}
    for _ in range(5):
        await tenants.app.call("POST", "/api/auth/login", json=wrong)
    answer = await try_login(tenants, "member")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "ACCOUNT_LOCKED")
    path = f"/api/users/{tenants.users['member']}"
    shown = (await tenants.call("admin", "GET", path)).json()["data"]
    until = START + timedelta(minutes=15)
    assert (shown["isLocked"], datetime.fromisoformat(shown["lockedUntil"])) == (True, until)
    lifted = (await tenants.call("admin", "POST", f"{path}/unlock")).json()["data"]
    assert (lifted["isLocked"], lifted["lockedUntil"]) == (False, None)
    await log_in(tenants, "member")
