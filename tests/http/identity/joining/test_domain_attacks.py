"""Joining by domain, as somebody would misuse it."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from adapters.memory.database import MemoryDatabase
from adapters.memory.transaction import MemoryTransaction
from application.identity.joining.domain_joining import KNOWN_FOR, DomainJoining
from domain.identity.logins import Login
from domain.scope import Client, EveryTenant, Scope
from tests.contracts.identity.login.test_factors import app_of
from tests.http.app import PASSWORD
from tests.http.identity.joining.invited import Invited, told
from tests.http.identity.joining.test_domains import (
    DOMAIN,
    PATH,
    dns_of,
    login,
    proved,
    save,
    somebody,
    verify,
)


@pytest.mark.promise(
    "tenants, domains and requests to join: nobody joins by an address that is not proved, nor by a domain that is not"
)
async def test_an_unproved_address_joins_nothing(invited: Invited) -> None:
    """Anybody can register an address at the domain where registration is open."""
    await proved(invited)
    email = await somebody(invited, is_proved=False)
    await login(invited, email)
    assert email not in await invited.members()
    await invited.prove(email)
    await login(invited, email)
    assert email in await invited.members()


@pytest.mark.promise(
    "tenants, domains and requests to join: nobody joins by an address that is not proved, nor by a domain that is not"
)
async def test_an_unverified_domain_adds_no_members(invited: Invited) -> None:
    await save(invited)
    invited.clock.move(KNOWN_FOR)
    email = await somebody(invited)
    await login(invited, email)
    assert email not in await invited.members()


@pytest.mark.promise(
    "tenants, domains and requests to join: neither a subdomain, nor a longer name, nor one that looks alike (IDN "
    "homographs) is the domain"
)
@pytest.mark.parametrize(
    "other", ["sub.people.example", "xpeople.example", "people.example.evil.example", "pe\u043eple.example"]
)
async def test_a_similar_domain_adds_no_members(invited: Invited, other: str) -> None:
    """Neither one below it, nor one that ends or looks alike."""
    await proved(invited)
    email = await somebody(invited, domain=other)
    await login(invited, email)
    assert email not in await invited.members()


@pytest.mark.promise(
    "tenants, domains and requests to join: of two tenants that race for a domain one gets it, and the other does not "
    "learn who"
)
async def test_a_domain_of_another_tenant_is_refused_without_naming_the_tenant(invited: Invited) -> None:
    await proved(invited)
    refused = await save(invited, whom="stranger")
    assert told(refused) == (409, "CONFLICT", ["domain"])
    assert "acme" not in refused.text.lower()


@pytest.mark.promise(
    "tenants, domains and requests to join: of two tenants that race for a domain one gets it, and the other does not "
    "learn who"
)
async def test_of_two_tenants_that_race_for_a_domain_one_gets_it(invited: Invited) -> None:
    for whom in ("admin", "stranger"):
        value = (await save(invited, whom=whom)).json()["data"]["record"]["value"]
        dns_of(invited).records.setdefault(f"_tenantry.{DOMAIN}", []).append(value)
    answers = await asyncio.gather(*(verify(invited, whom=whom) for whom in ("admin", "stranger")))
    assert sorted(answer.status_code for answer in answers) == [200, 409]


@pytest.mark.promise(
    "tenants, domains and requests to join: a record proves one row: neither another tenant's, nor the domain that is "
    "added again (expired proof)"
)
async def test_the_record_of_one_tenant_proves_nothing_for_another(invited: Invited) -> None:
    data = (await save(invited)).json()["data"]
    dns_of(invited).records[data["record"]["name"]] = [data["record"]["value"]]
    other = (await save(invited, whom="stranger")).json()["data"]
    assert other["record"]["value"] != data["record"]["value"]
    assert told(await verify(invited, whom="stranger"))[:2] == (409, "CONFLICT")


@pytest.mark.promise(
    "tenants, domains and requests to join: a record proves one row: neither another tenant's, nor the domain that is "
    "added again (expired proof)"
)
async def test_a_record_of_before_proves_nothing_for_a_domain_that_is_added_again(invited: Invited) -> None:
    """An expired proof: the record is still there when the domain has another owner in the tenant's view."""
    await proved(invited)
    assert (await invited.tenants.call("admin", "DELETE", f"{PATH}/{DOMAIN}")).status_code == 200
    await save(invited)
    assert told(await verify(invited))[:2] == (409, "CONFLICT")


@pytest.mark.promise(
    "tenants, domains and requests to join: Aliases and wildcards to somebody else prove nothing; the record is "
    "compared to the letter"
)
@pytest.mark.parametrize(
    "text", ["tenantry-verification=", "TENANTRY-VERIFICATION={}", "{} ", "x{}", "{}x", "{0}{0}", ""]
)
async def test_what_is_not_the_record_to_the_letter_proves_nothing(invited: Invited, text: str) -> None:
    record = (await save(invited)).json()["data"]["record"]
    value = record["value"].partition("=")[2] if "=" in text else record["value"]
    dns_of(invited).records[record["name"]] = [text.format(value)]
    assert told(await verify(invited))[:2] == (409, "CONFLICT")


@pytest.mark.promise(
    "tenants, domains and requests to join: Aliases and wildcards to somebody else prove nothing; the record is "
    "compared to the letter"
)
async def test_an_alias_of_the_record_proves_nothing(invited: Invited) -> None:
    record = (await save(invited)).json()["data"]["record"]
    dns_of(invited).records["target.provider.example"] = [record["value"]]
    dns_of(invited).aliases[record["name"]] = "target.provider.example"
    assert told(await verify(invited))[:2] == (409, "CONFLICT")


@pytest.mark.promise(
    "tenants, domains and requests to join: nobody gives by a domain or an approval what they do not hold, nor by any "
    "other operation that takes roles"
)
async def test_a_caller_cannot_grant_stronger_roles_by_a_domain(invited: Invited) -> None:
    settings = ["update:tenant-settings", "read:products"]
    await invited.tenants.make_role("Settings", "acme", settings)
    await invited.tenants.make_user("keeper", "acme", ["Settings"])
    await invited.tenants.log_in("keeper", "acme")
    for role in ("Admin", "Clerk", "SuperAdmin"):
        assert told(await save(invited, roles=[role], whom="keeper"))[:2] == (403, "FORBIDDEN"), role
    assert told(await save(invited, roles=["SuperAdmin"]))[:2] == (403, "FORBIDDEN")
    assert told(await save(invited, roles=["Foreign"])) == (400, "VALIDATION_ERROR", ["roles"])
    assert (await save(invited, roles=["Reader"], whom="keeper")).status_code == 201


@pytest.mark.promise(
    "tenants, domains and requests to join: nobody gives by a domain or an approval what they do not hold, nor by any "
    "other operation that takes roles"
)
async def test_a_caller_cannot_approve_a_request_to_stronger_roles(invited: Invited) -> None:
    """Also not by leaving the roles to the domain, which somebody with more set."""
    await proved(invited, mode="request", roles=["Admin"])
    email = await somebody(invited)
    await login(invited, email)
    path = f"/api/join-requests/{invited.tenants.users['ada']}/approve"
    for body in ({}, {"roles": ["Admin"]}, {"roles": ["Clerk"]}, {"roles": ["SuperAdmin"]}):
        assert told(await invited.tenants.call("host", "POST", path, body))[:2] == (403, "FORBIDDEN"), body
    assert email not in await invited.members()
    (item,) = (await invited.tenants.call("host", "GET", "/api/join-requests")).json()["data"]["items"]
    assert (item["roles"], item["may"]) == (["Admin"], {"approve": False})
    assert (await invited.tenants.call("host", "POST", path, {"roles": ["Reader"]})).status_code == 200


async def test_a_join_request_by_a_removed_domain_shows_the_roles_of_its_approval(invited: Invited) -> None:
    await proved(invited, mode="request", roles=["Admin"])
    await login(invited, await somebody(invited))
    assert (await invited.tenants.call("admin", "DELETE", f"{PATH}/{DOMAIN}")).is_success
    (item,) = (await invited.tenants.call("host", "GET", "/api/join-requests")).json()["data"]["items"]
    assert (item["roles"], item["may"]) == (["Member"], {"approve": True})
    approved = await invited.tenants.call("host", "POST", f"/api/join-requests/{item['id']}/approve", {})
    assert approved.json()["data"]["roles"] == ["Member"]


@pytest.mark.promise(
    "tenants, domains and requests to join: roles that their giver could not give any more are asked for and not given"
)
@pytest.mark.parametrize("fate", ["demoted", "disabled", "widened"])
async def test_roles_that_their_giver_could_not_give_any_more_are_asked_for(invited: Invited, fate: str) -> None:
    """Whoever set the domain lost rights, was disabled, or the role was widened: somebody has to decide."""
    await invited.tenants.make_role("Settings", "acme", ["update:tenant-settings", "read:products"])
    await invited.tenants.make_user("keeper", "acme", ["Settings"])
    await invited.tenants.log_in("keeper", "acme")
    await proved(invited, roles=["Reader"], whom="keeper")
    keeper = f"/api/users/{invited.tenants.users['keeper']}"
    if fate == "demoted":
        await invited.tenants.call("admin", "PUT", keeper, {"roles": ["Reader"]})
    elif fate == "disabled":
        await invited.tenants.call("admin", "PUT", keeper, {"isActive": False})
    else:
        body = {"name": "Reader", "permissions": ["read:products", "delete:products"]}
        role = f"/api/roles/{invited.tenants.roles['Reader']}"
        assert (await invited.tenants.call("root in acme", "PUT", role, body)).status_code == 200
    email = await somebody(invited)
    await login(invited, email)
    assert email not in await invited.members()
    listed = (await invited.tenants.call("admin", "GET", "/api/join-requests")).json()["data"]
    assert [item["email"] for item in listed["items"]] == [email]


@pytest.mark.promise(
    "tenants, domains and requests to join: whoever was removed or left does not come back by the domain"
)
@pytest.mark.parametrize("how", ["removed", "left"])
async def test_a_former_member_cannot_rejoin_by_the_domain(invited: Invited, how: str) -> None:
    await proved(invited)
    email = await somebody(invited)
    await invited.tenants.app.login("ada", email, invited.tenants.tenants["acme"])
    if how == "left":
        assert (await invited.tenants.call("ada", "POST", "/api/tenants/current/leave")).status_code == 200
    else:
        path = f"/api/tenants/{invited.tenants.tenants['acme']}/users/{invited.tenants.users['ada']}"
        assert (await invited.tenants.call("root", "DELETE", path)).status_code == 200
    await login(invited, email)
    assert email not in await invited.members()
    assert (await invited.tenants.call("admin", "GET", "/api/join-requests")).json()["data"]["items"] == []
    # An invitation lets them in again.
    _, token = await invited.invited(email)
    await login(invited, email)
    await invited.tenants.app.login("ada", email)
    assert (await invited.auth("accept", {"token": token}, whom="ada")).status_code == 200


@pytest.mark.promise(
    "tenants, domains and requests to join: a stolen password makes nobody with a second factor a member"
)
async def test_who_has_a_second_factor_joins_after_showing_it(invited: Invited) -> None:
    """A stolen password alone makes nobody a member of anything."""
    await proved(invited)
    email = await somebody(invited)
    async with invited.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(UUID(invited.tenants.users["ada"]))
        assert state is not None
        await tx.factors.add(app_of(state.user))
    body = {"email": email, "password": PASSWORD, "isPasswordEncrypted": False}
    refused = await invited.tenants.app.call("POST", "/api/auth/login", json=body)
    assert told(refused)[:2] == (401, "MFA_REQUIRED")
    assert email not in await invited.members()


@pytest.mark.promise(
    "tenants, domains and requests to join: Public mail services, addresses and other texts are no domain of a "
    "company; the tenant system has none"
)
async def test_the_tenant_system_has_no_domains(invited: Invited) -> None:
    assert told(await save(invited, whom="root"))[:2] == (403, "FORBIDDEN")


@pytest.mark.promise(
    "tenants, domains and requests to join: a closed tenant takes nobody in, and what is remembered of a domain lets "
    "nobody in that was removed or turned off"
)
async def test_a_domain_of_an_inactive_tenant_adds_no_members(invited: Invited) -> None:
    await proved(invited)
    path = f"/api/tenants/{invited.tenants.tenants['acme']}"
    assert (await invited.tenants.call("root", "PUT", path, {"isActive": False})).status_code == 200
    email = await somebody(invited)
    data = await login(invited, email)
    assert data["currentTenant"]["name"] == "Other"
    assert email not in await invited.members()


@pytest.mark.promise(
    "tenants, domains and requests to join: a closed tenant takes nobody in, and what is remembered of a domain lets "
    "nobody in that was removed or turned off"
)
async def test_a_disabled_or_removed_domain_adds_no_members_despite_the_cache(invited: Invited) -> None:
    await proved(invited)
    email = await somebody(invited)
    await somebody(invited, "first")
    await login(invited, f"first@{DOMAIN}")
    assert (await save(invited, mode="off")).status_code == 200
    await login(invited, email)
    await invited.tenants.call("admin", "DELETE", f"{PATH}/{DOMAIN}")
    await login(invited, email)
    assert email not in await invited.members()


@pytest.mark.promise("tenants, domains and requests to join: an address that changed since is not approved")
async def test_an_address_that_changed_is_not_approved(invited: Invited) -> None:
    await proved(invited, mode="request")
    email = await somebody(invited)
    await login(invited, email)
    user_id = UUID(invited.tenants.users["ada"])
    async with invited.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(user_id)
        assert state is not None
        moved = replace(state.user, email="ada@evil.example", email_key="ada@evil.example")
        await tx.users.save(moved, state.user)
    refused = await invited.tenants.call("admin", "POST", f"/api/join-requests/{user_id}/approve", {})
    assert told(refused)[:2] == (409, "CONFLICT")


@pytest.mark.promise(
    "tenants, domains and requests to join: logins at once make one membership and one request; of approving and "
    "declining at once one happens"
)
async def test_logins_at_once_make_one_membership_and_one_request(invited: Invited) -> None:
    await proved(invited, mode="request")
    email = await somebody(invited)
    await asyncio.gather(*(login(invited, email) for _ in range(4)))
    assert invited.actions().count("join-request.made") == 1
    assert (await save(invited)).status_code == 200
    other = await somebody(invited, "bob")
    await asyncio.gather(*(login(invited, other) for _ in range(4)))
    assert invited.actions().count("membership.joined-by-domain") == 1


@pytest.mark.promise(
    "tenants, domains and requests to join: logins at once make one membership and one request; of approving and "
    "declining at once one happens"
)
async def test_of_approving_and_declining_at_once_one_happens(invited: Invited) -> None:
    await proved(invited, mode="request")
    await login(invited, await somebody(invited))
    path = f"/api/join-requests/{invited.tenants.users['ada']}"
    answers = await asyncio.gather(
        invited.tenants.call("admin", "POST", f"{path}/approve", {}), invited.tenants.call("admin", "DELETE", path)
    )
    assert sorted(answer.status_code for answer in answers) == [200, 404]


@pytest.mark.promise("tenants, domains and requests to join: Another tenant's domains and requests are not there")
async def test_another_tenants_domains_and_requests_are_not_there(invited: Invited) -> None:
    await proved(invited, mode="request")
    await login(invited, await somebody(invited))
    path = f"/api/join-requests/{invited.tenants.users['ada']}"
    assert (await invited.tenants.call("stranger", "GET", PATH)).json()["data"] == []
    assert (await verify(invited, whom="stranger")).status_code == 404
    assert (await invited.tenants.call("stranger", "DELETE", f"{PATH}/{DOMAIN}")).status_code == 404
    assert (await invited.tenants.call("stranger", "GET", "/api/join-requests")).json()["data"]["items"] == []
    assert (await invited.tenants.call("stranger", "POST", f"{path}/approve", {})).status_code == 404
    assert (await invited.tenants.call("stranger", "DELETE", path)).status_code == 404


@pytest.mark.promise(
    "tenants, domains and requests to join: who may neither invite nor set is refused; changes ask for a recent proof "
    "of a person"
)
async def test_a_caller_without_permission_for_domains_and_requests_is_refused(invited: Invited) -> None:
    user_id = invited.tenants.users["member"]
    for method, path, body in (
        ("GET", PATH, None),
        ("POST", PATH, {"domain": DOMAIN}),
        ("POST", f"{PATH}/{DOMAIN}/verify", None),
        ("DELETE", f"{PATH}/{DOMAIN}", None),
        ("GET", "/api/join-requests", None),
        ("POST", f"/api/join-requests/{user_id}/approve", {}),
        ("DELETE", f"/api/join-requests/{user_id}", None),
    ):
        assert told(await invited.tenants.call("member", method, path, body))[:2] == (403, "FORBIDDEN"), path


@dataclass
class ClosedMeanwhile:
    """A database in which somebody else closes the tenant just before each transaction."""

    database: MemoryDatabase
    tenant_id: UUID

    def read_only(self, scope: Scope) -> AbstractAsyncContextManager[MemoryTransaction]:
        return self.database.read_only(scope)

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[MemoryTransaction]:
        async with self.database.transaction(EveryTenant()) as tx:
            found = await tx.tenants.by_id(self.tenant_id)
            assert found is not None
            await tx.tenants.save(replace(found, is_active=False))
        async with self.database.transaction(scope) as tx:
            yield tx


async def test_a_concurrently_closed_tenant_gets_no_members_by_its_domain(invited: Invited) -> None:
    await proved(invited)
    email = await somebody(invited)
    async with invited.database.read_only(EveryTenant()) as read:
        state = await read.users.state_by_email(email)
    assert state is not None
    database: Any = ClosedMeanwhile(invited.database, UUID(invited.tenants.tenants["acme"]))
    joining = invited.tenants.app.services.sign_in.joining
    assert isinstance(joining, DomainJoining)
    joining = dataclasses.replace(joining, database=database)
    login = Login(state=state, methods=(), by_password=True)
    after = await joining.joined(login, Client(address="", network="", device="", request_id=""))
    assert after.state.memberships == state.memberships
    assert email not in await invited.members()
