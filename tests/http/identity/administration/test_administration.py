"""Permissions of administration: every operation of users, roles, memberships and tenants, by everybody."""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, fields
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.database import MemoryDatabase
from adapters.memory.dns import MemoryDnsRecords
from application.identity.joining.domain_joining import KNOWN_FOR
from domain.scope import EveryTenant
from tests.http.app import PASSWORD
from tests.http.identity.factors.steps import move
from tests.http.served import served_by
from tests.http.two_tenants import SYSTEM, TwoTenants, email_of, open_two_tenants

WHO = ("root", "root in acme", "admin", "clerk", "member", "stranger", "undecided", "nobody")
"""A super-admin at service and in the tenant, the tenant's admin, one who holds all of users and roles, one who holds
nothing, another tenant's admin, a Global Token, and no token."""

Form = dict[str, object]

OPERATIONS: Mapping[str, tuple[str, str, Form | None]] = {
    "list users": ("GET", "/api/users", None),
    "read a member": ("GET", "/api/users/{target}", None),
    "see why a member may": ("GET", "/api/users/{target}/permissions", None),
    "make a user": ("POST", "/api/users", {"email": "n@acme.example", "password": PASSWORD, "fullName": "New"}),
    "rename a member": ("PUT", "/api/users/{target}", {"fullName": "Renamed"}),
    "rename an admin": ("PUT", "/api/users/{strong}", {"fullName": "Renamed"}),
    "rename who is elsewhere too": ("PUT", "/api/users/{both}", {"fullName": "Renamed"}),
    "rename a super-admin": ("PUT", "/api/users/{root}", {"fullName": "Renamed"}),
    "unlock a member": ("POST", "/api/users/{target}/unlock", None),
    "unlock an admin": ("POST", "/api/users/{strong}/unlock", None),
    "reset the factors of a member": ("DELETE", "/api/users/{target}/factors", None),
    "reset the factors of an admin": ("DELETE", "/api/users/{strong}/factors", None),
    "list a member's sessions": ("GET", "/api/users/{target}/sessions", None),
    "end a member's sessions": ("DELETE", "/api/users/{target}/sessions", None),
    "end an admin's sessions": ("DELETE", "/api/users/{strong}/sessions", None),
    "end a session there is not": ("DELETE", "/api/users/{target}/sessions/{target}", None),
    "give what everybody holds": ("POST", "/api/users/{target}/roles", {"roleNames": ["Member"]}),
    "give all of the tenant": ("POST", "/api/users/{target}/roles", {"roleNames": ["Admin"]}),
    "give all there is": ("POST", "/api/users/{target}/roles", {"roleNames": ["SuperAdmin"]}),
    "delete a member": ("DELETE", "/api/users/{target}", None),
    "delete an admin": ("DELETE", "/api/users/{strong}", None),
    "list roles": ("GET", "/api/roles", None),
    "read a role": ("GET", "/api/roles/{Empty}", None),
    "make a role": ("POST", "/api/roles", {"name": "New", "permissions": ["read:users"]}),
    "change a role": ("PUT", "/api/roles/{Empty}", {"name": "Empty", "permissions": ["read:users"]}),
    "change a system role": ("PUT", "/api/roles/{Member}", {"name": "Member", "permissions": ["read:users"]}),
    "delete a role": ("DELETE", "/api/roles/{Empty}", None),
    "delete a system role": ("DELETE", "/api/roles/{Member}", None),
    "list permissions": ("GET", "/api/permissions", None),
    "make a permission": ("POST", "/api/permissions", {"name": "do:it"}),
    "list members": ("GET", "/api/tenants/{acme}/users", None),
    "change a membership": ("POST", "/api/tenants/{acme}/users", {"userId": "{target}", "roles": []}),
    "bring a stranger in": ("POST", "/api/tenants/{acme}/users", {"userId": "{stranger}", "roles": []}),
    "end a membership": ("DELETE", "/api/tenants/{acme}/users/{target}", None),
    "end an admin's membership": ("DELETE", "/api/tenants/{acme}/users/{strong}", None),
    "list invitations": ("GET", "/api/invitations", None),
    "invite somebody": ("POST", "/api/invitations", {"email": "i@acme.example"}),
    "invite many": ("POST", "/api/invitations/batch", {"items": [{"email": "i@acme.example"}]}),
    "invite again": ("POST", "/api/invitations/{invitation}/resend", None),
    "revoke an invitation": ("DELETE", "/api/invitations/{invitation}", None),
    "list domains": ("GET", "/api/tenants/current/domains", None),
    "add a domain": ("POST", "/api/tenants/current/domains", {"domain": "new.example"}),
    "verify a domain": ("POST", "/api/tenants/current/domains/{domain}/verify", None),
    "remove a domain": ("DELETE", "/api/tenants/current/domains/{domain}", None),
    "list requests to join": ("GET", "/api/join-requests", None),
    "approve a request": ("POST", "/api/join-requests/{asking}/approve", {}),
    "decline a request": ("DELETE", "/api/join-requests/{asking}", None),
    "transfer the tenant": ("POST", "/api/tenants/current/transfer", {"userId": "{target}"}),
    "leave the tenant": ("POST", "/api/tenants/current/leave", None),
    "make an owner": ("PUT", "/api/tenants/{acme}/users/{target}", {"isOwner": True}),
    "read the settings": ("GET", "/api/tenants/current/settings", None),
    "change the settings": ("PUT", "/api/tenants/current/settings", {"currency": "EUR"}),
    "see where one is": ("GET", "/api/tenants/current", None),
    "list tenants": ("GET", "/api/tenants", None),
    "read a tenant": ("GET", "/api/tenants/{acme}", None),
    "make a tenant": ("POST", "/api/tenants", {"name": "New", "identifier": "fresh"}),
    "rename a tenant": ("PUT", "/api/tenants/{acme}", {"name": "Renamed"}),
    "delete a tenant": ("DELETE", "/api/tenants/{other}", None),
    "delete the system": ("DELETE", f"/api/tenants/{SYSTEM}", None),
}

EXPECTED = {
    "list users": (200, 200, 200, 200, 403, 200, 403, 401),
    "read a member": (200, 200, 200, 200, 403, 404, 403, 401),
    "see why a member may": (200, 200, 200, 403, 403, 404, 403, 401),
    "make a user": (201, 201, 201, 201, 403, 201, 403, 401),
    "rename a member": (200, 200, 200, 200, 403, 404, 403, 401),
    "rename an admin": (200, 200, 200, 403, 403, 404, 403, 401),
    "rename who is elsewhere too": (200, 200, 403, 403, 403, 403, 403, 401),
    "rename a super-admin": (200, 404, 404, 404, 403, 404, 403, 401),
    "unlock a member": (200, 200, 200, 200, 403, 404, 403, 401),
    "unlock an admin": (200, 200, 200, 403, 403, 404, 403, 401),
    "reset the factors of a member": (200, 200, 200, 200, 403, 404, 403, 401),
    "reset the factors of an admin": (200, 200, 200, 403, 403, 404, 403, 401),
    "list a member's sessions": (200, 200, 200, 200, 403, 404, 403, 401),
    "end a member's sessions": (200, 200, 200, 200, 403, 404, 403, 401),
    "end an admin's sessions": (200, 200, 200, 403, 403, 404, 403, 401),
    "end a session there is not": (404, 404, 404, 404, 403, 404, 403, 401),
    "give what everybody holds": (200, 200, 200, 200, 403, 404, 403, 401),
    "give all of the tenant": (200, 200, 200, 403, 403, 404, 403, 401),
    "give all there is": (200, 403, 403, 403, 403, 404, 403, 401),
    "delete a member": (200, 200, 200, 200, 403, 404, 403, 401),
    "delete an admin": (200, 200, 200, 403, 403, 404, 403, 401),
    "list roles": (200, 200, 200, 403, 403, 200, 403, 401),
    "make a role": (201, 201, 201, 201, 403, 201, 403, 401),
    "read a role": (404, 200, 200, 403, 403, 404, 403, 401),
    "change a role": (404, 200, 200, 200, 403, 404, 403, 401),
    "change a system role": (200, 200, 403, 403, 403, 403, 403, 401),
    "delete a role": (404, 200, 200, 200, 403, 404, 403, 401),
    "delete a system role": (409, 409, 403, 403, 403, 403, 403, 401),
    "list permissions": (200, 200, 200, 403, 403, 200, 403, 401),
    "make a permission": (201, 201, 403, 403, 403, 403, 403, 401),
    "list members": (200, 200, 200, 200, 403, 404, 403, 401),
    "change a membership": (200, 200, 200, 200, 403, 404, 403, 401),
    "bring a stranger in": (201, 201, 400, 400, 403, 404, 403, 401),
    "end a membership": (200, 200, 200, 200, 403, 404, 403, 401),
    "end an admin's membership": (200, 200, 200, 403, 403, 404, 403, 401),
    "list invitations": (200, 200, 200, 403, 403, 200, 403, 401),
    "invite somebody": (201, 201, 201, 403, 403, 201, 403, 401),
    "invite many": (201, 201, 201, 403, 403, 201, 403, 401),
    "invite again": (404, 200, 200, 403, 403, 404, 403, 401),
    "revoke an invitation": (404, 200, 200, 403, 403, 404, 403, 401),
    "list domains": (200, 200, 200, 403, 403, 200, 403, 401),
    "add a domain": (403, 201, 201, 403, 403, 201, 403, 401),
    "verify a domain": (404, 200, 200, 403, 403, 404, 403, 401),
    "remove a domain": (404, 200, 200, 403, 403, 404, 403, 401),
    "list requests to join": (200, 200, 200, 403, 403, 200, 403, 401),
    "approve a request": (404, 200, 200, 403, 403, 404, 403, 401),
    "decline a request": (404, 200, 200, 403, 403, 404, 403, 401),
    "transfer the tenant": (403, 403, 403, 403, 403, 403, 403, 401),
    "leave the tenant": (200, 404, 200, 200, 200, 409, 403, 401),
    "make an owner": (200, 200, 403, 403, 403, 403, 403, 401),
    "read the settings": (200, 200, 200, 403, 403, 200, 403, 401),
    "change the settings": (200, 200, 200, 403, 403, 200, 403, 401),
    "see where one is": (200, 200, 200, 200, 200, 200, 404, 401),
    "list tenants": (200, 200, 403, 403, 403, 403, 403, 401),
    "read a tenant": (200, 200, 403, 403, 403, 403, 403, 401),
    "make a tenant": (201, 201, 403, 403, 403, 403, 403, 401),
    "rename a tenant": (200, 200, 403, 403, 403, 403, 403, 401),
    "delete a tenant": (200, 200, 403, 403, 403, 403, 403, 401),
    "delete the system": (409, 409, 403, 403, 403, 403, 403, 401),
}

AUDITED = {
    "make a user": "user.created",
    "rename a member": "user.changed",
    "rename an admin": "user.changed",
    "rename who is elsewhere too": "user.changed",
    "rename a super-admin": "user.changed",
    "unlock a member": "user.unlocked",
    "unlock an admin": "user.unlocked",
    "reset the factors of a member": "factor.reset",
    "reset the factors of an admin": "factor.reset",
    "end a member's sessions": "user.sessions-ended",
    "end an admin's sessions": "user.sessions-ended",
    "give what everybody holds": "user.roles-changed",
    "give all of the tenant": "user.roles-changed",
    "give all there is": "user.roles-changed",
    "delete a member": "user.deleted",
    "delete an admin": "user.deleted",
    "make a role": "role.created",
    "change a role": "role.changed",
    "change a system role": "role.changed",
    "delete a role": "role.deleted",
    "make a permission": "permission.created",
    "change a membership": "membership.changed",
    "bring a stranger in": "membership.changed",
    "end a membership": "membership.ended",
    "end an admin's membership": "membership.ended",
    "invite somebody": "invitation.sent",
    "invite many": "invitation.sent",
    "invite again": "invitation.resent",
    "revoke an invitation": "invitation.revoked",
    "add a domain": "domain.added:new.example",
    "remove a domain": "domain.removed:people.example",
    "approve a request": "join-request.approved",
    "decline a request": "join-request.declined",
    "leave the tenant": "membership.ended",
    "make an owner": "owner.changed",
    "change the settings": "settings.changed:currency",
    "make a tenant": "tenant.created",
    "rename a tenant": "tenant.changed",
    "delete a tenant": "tenant.deleted",
}
"""What is in the audit trail of those operations that somebody may do, in each tenant that it concerns."""


@dataclass
class Furnished:
    """Two tenants in which nothing that is tried lasts."""

    tenants: TwoTenants
    named: dict[str, str]
    audited: set[str] = field(default_factory=set)
    """Actions that the last attempt wrote into the audit trail."""

    async def attempt(self, whom: str, method: str, path: str, body: Form | None) -> httpx.Response:
        adapters = self.tenants.app.adapters
        assert isinstance(adapters.database, MemoryDatabase)
        assert isinstance(adapters.admissions, MemoryAdmissions)
        before = adapters.database.committed().copy()
        as_whom = None if whom == "nobody" else whom
        answer = await self.tenants.app.call(method, self._filled(path), as_whom=as_whom, json=self._form(body))
        lines = adapters.database.committed().tables["audit_events"]
        self.audited = {str(row["action"]) for key, row in lines.items() if key not in before.tables["audit_events"]}
        async with adapters.database.changing() as store:
            for room in fields(store):
                setattr(store, room.name, getattr(before, room.name))
        adapters.admissions.forget()
        return answer

    def _form(self, body: Form | None) -> Form | None:
        if body is None:
            return None
        return {name: self._filled(value) if isinstance(value, str) else value for name, value in body.items()}

    def _filled(self, text: str) -> str:
        return text.format(**self.named)


@pytest_asyncio.fixture(scope="module")
async def furnished() -> AsyncIterator[Furnished]:
    async with open_two_tenants() as tenants:
        for name, roles in (("target", []), ("strong", ["Admin"]), ("both", [])):
            await tenants.make_user(name, "acme", roles)
        joining = {"userId": tenants.users["both"], "roles": []}
        joined = await tenants.call("root", "POST", f"/api/tenants/{tenants.tenants['other']}/users", joining)
        assert joined.status_code == 201
        await tenants.app.login("undecided", email_of("both"))
        await tenants.make_role("Empty", "acme", [])
        listed = (await tenants.call("root", "GET", "/api/roles")).json()["items"]
        system_roles = {role["name"]: role["id"] for role in listed if role["isSystem"]}
        await ask_to_join(tenants)
        invited = await tenants.call("admin", "POST", "/api/invitations", {"email": "guest@acme.example"})
        invitation = {"invitation": invited.json()["data"]["id"]}
        named = {
            **tenants.users,
            **tenants.tenants,
            **tenants.roles,
            **system_roles,
            **invitation,
            "domain": "people.example",
        }
        yield Furnished(tenants, named)


async def ask_to_join(tenants: TwoTenants) -> None:
    """Proves a domain for ``acme``, by which ``asking`` wants to come in."""
    path, domain = "/api/tenants/current/domains", {"domain": "people.example", "mode": "request"}
    record = (await tenants.call("admin", "POST", path, domain)).json()["data"]["record"]
    dns = tenants.app.adapters.dns
    assert isinstance(dns, MemoryDnsRecords)
    dns.records[record["name"]] = [record["value"]]
    assert (await tenants.call("admin", "POST", f"{path}/people.example/verify")).status_code == 200
    email = "asking@people.example"
    tenants.users["asking"] = await tenants.app.make_user("other", email, [])
    async with tenants.app.services.database.transaction(EveryTenant()) as tx:
        assert await tx.credentials.confirm_email(
            UUID(tenants.users["asking"]), email, tenants.app.services.clock.now()
        )
    move(tenants, KNOWN_FOR)
    await tenants.app.login("asking", email)


@pytest.mark.promise("POST /api/users")
@pytest.mark.promise("GET /api/users/{user_id}")
@pytest.mark.promise("GET /api/users/{user_id}/permissions")
@pytest.mark.promise("PUT /api/users/{user_id}")
@pytest.mark.promise("DELETE /api/users/{user_id}")
@pytest.mark.promise("POST /api/users/{user_id}/roles")
@pytest.mark.promise("GET /api/roles")
@pytest.mark.promise("POST /api/roles")
@pytest.mark.promise("PUT /api/roles/{role_id}")
@pytest.mark.promise("DELETE /api/roles/{role_id}")
@pytest.mark.promise("GET /api/permissions")
@pytest.mark.promise("POST /api/permissions")
@pytest.mark.promise("GET /api/tenants")
@pytest.mark.promise("POST /api/tenants")
@pytest.mark.promise("GET /api/tenants/{tenant_id}")
@pytest.mark.promise("PUT /api/tenants/{tenant_id}")
@pytest.mark.promise("GET /api/tenants/{tenant_id}/users")
@pytest.mark.promise("POST /api/tenants/{tenant_id}/users")
@pytest.mark.promise("DELETE /api/tenants/{tenant_id}/users/{user_id}")
@pytest.mark.promise("POST /api/invitations")
@pytest.mark.promise("identity, administration: who may do what to whom, for every operation")
@pytest.mark.promise("tenants, invitations: Another tenant's invitation is not there")
@pytest.mark.promise("tenants, domains and requests to join: Another tenant's domains and requests are not there")
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_each_operation_is_allowed_as_the_table_of_callers_lists(furnished: Furnished, operation: str) -> None:
    answers = [await furnished.attempt(whom, *OPERATIONS[operation]) for whom in WHO]
    assert tuple(answer.status_code for answer in answers) == EXPECTED[operation]
    assert all(answer.json()["isSuccess"] is False for answer in answers if answer.is_error)


AREA = ("/api/users", "/api/roles", "/api/permissions", "/api/tenants", "/api/invitations", "/api/join-requests")


@pytest.mark.promise("identity, administration: who may do what to whom, for every operation")
def test_every_operation_on_users_roles_and_tenants_is_in_the_table(furnished: Furnished) -> None:
    served = {
        (served.method, re.sub(r"{[^}]+}", "{}", served.path))
        for served in served_by(furnished.tenants.app.services)
        if served.path.startswith(AREA)
    }
    tried = {(method, re.sub(r"{[^}]+}|" + SYSTEM, "{}", path)) for method, path, _ in OPERATIONS.values()}
    assert tried == served


@pytest.mark.parametrize("operation", [name for name, (method, *_) in OPERATIONS.items() if method != "GET"])
async def test_a_completed_operation_is_audited_and_a_refused_one_is_not(furnished: Furnished, operation: str) -> None:
    for whom, status in zip(WHO, EXPECTED[operation], strict=True):
        await furnished.attempt(whom, *OPERATIONS[operation])
        done = {action for action in furnished.audited if not action.endswith(".refused")}
        assert done == ({AUDITED[operation]} if status < 300 and operation in AUDITED else set()), whom


@pytest.mark.promise("identity, administration: the audit trail, by tenant")
async def test_administration_is_in_the_audit_trail(tenants: TwoTenants) -> None:
    path = f"/api/users/{tenants.users['member']}"
    await tenants.call("admin", "PUT", path, {"fullName": "Renamed"})
    await tenants.call("admin", "POST", f"{path}/roles", {"roleNames": ["Reader"]})
    await tenants.call("admin", "PUT", f"/api/roles/{tenants.roles['Reader']}", {"name": "Reader", "permissions": []})
    await tenants.call("admin", "DELETE", path)
    trail = (await tenants.call("admin", "GET", "/api/audit-events?pageSize=100")).json()["data"]["items"]
    mine = {event["action"]: event for event in trail if event["actorId"] == tenants.users["admin"]}
    assert {"user.changed", "user.roles-changed", "role.changed", "user.deleted", "login.succeeded"} <= mine.keys()
    changed = mine["user.changed"]
    assert (changed["targetId"], changed["tenantId"]) == (tenants.users["member"], tenants.tenants["acme"])
    assert {"address", "requestId", "occurredAt"} <= changed.keys()
    elsewhere = (await tenants.call("stranger", "GET", "/api/audit-events?pageSize=100")).json()["data"]["items"]
    assert not {event["id"] for event in elsewhere} & {event["id"] for event in trail}
