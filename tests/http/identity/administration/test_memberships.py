"""/api/tenants/{id}/users on the wire: every field of every answer.

/api/permissions on the wire: every field of every answer.

Mails of administration: whose roles were changed is told, and who keeps theirs is not.

Lines of the audit trail about a member: what they tell, and in which tenants.

What a caller may do to an account stands in it, and is what the service does and refuses.
"""

import pytest

from adapters.memory.mail import MemoryMailer
from tests.builders import link_in, said_by
from tests.http.app import TestApp
from tests.http.identity.factors.steps import PAGE, join, log_in
from tests.http.two_tenants import TwoTenants, email_of

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


async def test_a_membership_retains_the_roles_when_they_are_omitted(tenants: TwoTenants) -> None:
    path = f"/api/tenants/{tenants.tenants['other']}/users"
    member = {"userId": tenants.users["member"]}
    made = await tenants.call("root", "POST", path, member)
    assert (made.status_code, made.json()["data"]["roles"]) == (201, [])
    await tenants.call("root", "POST", path, {**member, "roles": ["Admin", "Member"]})
    moved = await tenants.call("root", "POST", path, {**member, "isDefault": True})
    data = moved.json()["data"]
    assert (moved.status_code, data["isDefault"], data["roles"]) == (200, True, ["Admin", "Member"])


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


async def told(app: TestApp) -> list[tuple[str, str]]:
    """Recipients and subjects of the mails that are sent now."""
    mailer = app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    mailer.sent.clear()
    await app.services.relay.deliver()
    return [(mail.to, mail.subject.partition(": ")[2]) for mail in mailer.sent]


ROLES = {
    "assign": ("POST", "/api/users/{user}/roles", "roleNames"),
    "update": ("PUT", "/api/users/{user}", "roles"),
    "membership": ("POST", "/api/tenants/{tenant}/users", "roles"),
}


@pytest.mark.promise(
    "security, rights: the owner learns by mail of a login from a new device, of a linked and of an unlinked identity, "
    "and of changed roles"
)
@pytest.mark.parametrize("how", ROLES)
async def test_changed_roles_are_notified_by_mail(app: TestApp, how: str) -> None:
    user = (await app.call("GET", "/api/auth/me", as_whom="reader")).json()["data"]["id"]
    tenant = (await app.call("GET", "/api/tenants/current", as_whom="acme")).json()["data"]["id"]
    method, path, field = ROLES[how]
    more = {"userId": user} if how == "membership" else {}
    for roles, expected in (
        (["Reader", "Member"], [("reader@acme.example", "Your roles were changed")]),
        (["Member", "Reader"], []),
    ):
        body = {field: roles, **more}
        answer = await app.call(method, path.format(user=user, tenant=tenant), as_whom="acme", json=body)
        assert answer.status_code == 200, answer.text
        assert await told(app) == expected


async def actions_on_member(tenants: TwoTenants, whom: str = "admin") -> list[str]:
    """Actions of this trail whose target is the member, the oldest first."""
    trail = (await tenants.call(whom, "GET", "/api/audit-events?pageSize=100&sort=id")).json()["data"]["items"]
    return [event["action"] for event in trail if event["targetId"] == tenants.users["member"]]


async def test_a_form_is_in_the_trail_with_what_it_changes(tenants: TwoTenants) -> None:
    path = f"/api/users/{tenants.users['member']}"
    before = await actions_on_member(tenants)
    read = (await tenants.call("admin", "GET", path)).json()["data"]
    for form in ({}, {"fullName": read["fullName"], "roles": read["roles"]}):
        assert (await tenants.call("admin", "PUT", path, form)).status_code == 200
    assert await actions_on_member(tenants) == before
    for form in ({"roles": ["Reader"]}, {"fullName": "Renamed"}, {"fullName": "Again", "roles": []}):
        assert (await tenants.call("admin", "PUT", path, form)).status_code == 200
    told = (await actions_on_member(tenants))[len(before) :]
    assert told == ["user.roles-changed", "user.changed", "user.roles-changed", "user.changed"]


async def test_the_tenants_of_a_member_learn_what_is_done_from_the_system(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    path = f"/api/users/{tenants.users['member']}"
    tried = {whom: len(await actions_on_member(tenants, whom)) for whom in ("admin", "stranger")}
    acts = (("PUT", ""), ("POST", "/unlock"), ("DELETE", "/sessions"), ("DELETE", "/factors"), ("DELETE", ""))
    for method, end in acts:
        form = {"fullName": "Renamed"} if method == "PUT" else None
        assert (await tenants.call("root", method, path + end, form)).is_success
    done = ["user.changed", "user.unlocked", "user.sessions-ended", "factor.reset", "user.deleted"]
    for whom, seen in tried.items():
        assert (await actions_on_member(tenants, whom))[seen:] == done


async def test_the_tenants_of_a_member_learn_of_a_password_by_mail(tenants: TwoTenants) -> None:
    await join(tenants, "member", "other")
    app, mailer = tenants.app, tenants.app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    await app.call("POST", "/api/auth/request-password-reset", json={"email": email_of("member")})
    await app.services.relay.deliver()
    body = {**said_by(link_in(mailer.sent[-1])), "newPassword": "a password of the owner"}
    assert (await app.call("POST", "/api/auth/reset-password", json=body)).status_code == 200
    for whom in ("admin", "stranger"):
        assert (await actions_on_member(tenants, whom))[-1] == "password.reset"


WAYS = (
    ("change", "PUT", "", {"phoneNumber": "+49 30 123456"}),
    ("endSessions", "DELETE", "/sessions", None),
    ("disable", "DELETE", "/factors", None),
    ("disable", "PUT", "", {"email": "another@acme.example"}),
    ("disable", "PUT", "", {"isActive": False}),
    ("remove", "DELETE", "", None),
)


async def people(app: TestApp) -> dict[str, str]:
    """Members of Acme by what sets them apart."""
    acme, other = [
        (await app.call("GET", "/api/tenants/current", as_whom=name)).json()["data"]["id"] for name in ("acme", "other")
    ]
    await app.make_role("acme", "Staff", ["read:users", "update:users", "delete:users"])
    made = {
        name: await app.make_user("acme", f"{name}@acme.example", [role])
        for name, role in (
            ("owner", "Admin"), ("stronger", "Admin"), ("weaker", "Reader"), ("shared", "Reader"), ("staff", "Staff")
        )
    }  # fmt: skip
    await app.call("POST", "/api/auth/switch-tenant", as_whom="root", json={"tenantId": acme})
    for owner in ("owner", "stronger"):
        of = f"/api/tenants/{acme}/users/{made[owner]}"
        owned = await app.call("PUT", of, as_whom="root", json={"isOwner": True})
        assert owned.status_code == 200, owned.text
    body = {"userId": made["shared"], "roles": ["Admin"]}
    shared = await app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)
    assert shared.status_code == 201, shared.text
    await app.login("staff", "staff@acme.example")
    return made


@pytest.mark.promise("console, journeys: a person's page offers what the service does for this caller alone")
@pytest.mark.parametrize(
    ("caller", "target", "given"),
    [
        ("acme", "weaker", {"change", "disable", "remove", "endSessions"}),
        ("acme", "owner", {"change", "endSessions"}),
        ("acme", "shared", {"remove", "endSessions"}),
        ("root", "owner", {"change", "disable", "remove", "endSessions"}),
        ("staff", "stronger", set()),
        ("reader", "weaker", set()),
    ],
)
async def test_a_user_lists_the_actions_allowed_to_the_caller(
    app: TestApp, caller: str, target: str, given: set[str]
) -> None:
    user_id = (await people(app))[target]
    path = f"/api/users/{user_id}"
    may = (await app.call("GET", path, as_whom=caller)).json()["data"]["may"]
    assert {name for name, is_given in may.items() if is_given} == given
    for name, method, below, body in WAYS:
        answer = await app.call(method, f"{path}{below}", as_whom=caller, json=body)
        assert (answer.status_code != 403) == (name in given), (name, answer.text)
