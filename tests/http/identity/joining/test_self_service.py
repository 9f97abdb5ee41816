"""People and their own accounts: deleting one, tenants of one's own, and the switch for registration."""

from datetime import timedelta
from uuid import UUID

import httpx
import pytest
from msgspec.structs import replace

from adapters.http.identity.joining.ownership import CREATE_TENANT
from adapters.memory.clock import MovableClock
from domain.scope import EveryTenant
from tests.http.app import ADMIN, PASSWORD, open_test_app
from tests.http.identity.joining.invited import ADA, NEW, Invited, told
from tests.http.identity.steps import claims_of
from tests.http.two_tenants import SYSTEM, email_of

ME = "/api/auth/me"


@pytest.mark.promise("DELETE /api/auth/me")
async def test_one_deletes_ones_account_and_its_tokens_are_dead(invited: Invited) -> None:
    gone = await invited.tenants.call("member", "DELETE", ME)
    assert (gone.status_code, gone.json().keys()) == (200, {"isSuccess", "message"})
    assert (await invited.tenants.call("member", "GET", ME)).status_code == 401
    assert email_of("member") not in await invited.members()
    assert invited.actions()[-1] == "account.deleted"
    body = {"email": email_of("member"), "password": PASSWORD, "isPasswordEncrypted": False}
    refused = await invited.tenants.app.call("POST", "/api/auth/login", json=body)
    assert told(refused)[:2] == (401, "INVALID_CREDENTIALS")
    assert (await invited.invite(email_of("member"))).status_code == 201


async def test_a_service_account_is_deleted_otherwise(invited: Invited) -> None:
    services, now = invited.tenants.app.services, invited.clock.now()
    claims = services.tokens.read(invited.tenants.app.tokens["member"], now)
    invited.tenants.app.tokens["machine"] = services.tokens.sign(replace(claims, kind="service"), now)
    assert told(await invited.tenants.call("machine", "DELETE", ME))[:2] == (403, "FORBIDDEN")


@pytest.mark.promise("DELETE /api/auth/me")
async def test_who_is_missed_stays(invited: Invited) -> None:
    assert told(await invited.tenants.call("admin", "DELETE", ME)) == (409, "CONFLICT", [])
    assert told(await invited.tenants.call("root", "DELETE", ME)) == (409, "CONFLICT", [])
    path = f"/api/tenants/{invited.tenants.tenants['acme']}/users/{invited.tenants.users['clerk']}"
    assert (await invited.tenants.call("root", "PUT", path, {"isOwner": True})).status_code == 200
    assert "last owner" in (await invited.tenants.call("clerk", "DELETE", ME)).json()["errorMessage"]


async def test_deleting_asks_for_a_recent_proof(invited: Invited) -> None:
    services, now = invited.tenants.app.services, invited.clock.now()
    claims = services.tokens.read(invited.tenants.app.tokens["member"], now)
    invited.tenants.app.tokens["old"] = services.tokens.sign(replace(claims, auth_time=0), now)
    assert told(await invited.tenants.call("old", "DELETE", ME))[:2] == (401, "REAUTHENTICATION_REQUIRED")


async def test_where_registration_is_off_accounts_come_by_invitation() -> None:
    app = await open_test_app({"TENANTRY_SELF_REGISTRATION": "off"})
    body = {"email": ADA, **NEW}
    refused = await app.call("POST", "/api/auth/register", json=body)
    assert told(refused) == (403, "FORBIDDEN", [])
    await app.login("root", ADMIN, SYSTEM)
    assert (await app.call("POST", "/api/invitations", as_whom="root", json={"email": ADA})).status_code == 201
    await app.client.aclose()


OWN = "/api/auth/tenants"


@pytest.mark.promise("POST /api/auth/tenants")
async def test_nobody_makes_a_tenant_where_that_is_off(invited: Invited) -> None:
    answer = await invited.tenants.call("member", "POST", OWN, {"name": "Mine"})
    assert told(answer) == (404, "NOT_FOUND", [])


@pytest.mark.promise("POST /api/auth/tenants")
async def test_a_tenant_of_ones_own_is_owned_and_administered() -> None:
    app = await open_test_app({"TENANTRY_SELF_SERVICE_TENANTS": "on", "TENANTRY_CONFIRM_EMAIL": "false"})
    await app.call("POST", "/api/auth/register", json={"email": ADA, **NEW})
    login = {"email": ADA, "password": NEW["password"], "isPasswordEncrypted": False}
    app.tokens["ada"] = (await app.call("POST", "/api/auth/login", json=login)).json()["data"]["token"]
    made = await app.call("POST", OWN, as_whom="ada", json={"name": "B\u00fccher & S\u00f6hne"})
    tenant = made.json()["data"]
    assert (made.status_code, tenant["identifier"]) == (201, "bucher-sohne")
    profile = (await app.call("GET", made.headers["Location"], as_whom="ada")).json()["data"]
    assert tenant["id"] in {member["id"] for member in profile["tenants"]}
    switched = await app.call("POST", "/api/auth/switch-tenant", as_whom="ada", json={"tenantId": tenant["id"]})
    app.tokens["ada"] = switched.json()["data"]["token"]
    (member,) = (await app.call("GET", f"/api/tenants/{tenant['id']}/users", as_whom="ada")).json()["data"]["items"]
    assert (member["email"], member["roles"], member["isOwner"]) == (ADA, ["Admin"], True)
    taken = await app.call("POST", OWN, as_whom="ada", json={"name": "X", "identifier": "bucher-sohne"})
    assert told(taken) == (409, "CONFLICT", ["identifier"])
    for identifier in ("admin", "Upper", "x", "-a-"):
        wrong = await app.call("POST", OWN, as_whom="ada", json={"name": "X", "identifier": identifier})
        assert told(wrong) == (400, "VALIDATION_ERROR", ["identifier"])
    for name in ("B\u00fccher & S\u00f6hne", "Admin"):
        other = (await app.call("POST", OWN, as_whom="ada", json={"name": name})).json()["data"]
        assert other["identifier"].startswith(("bucher-sohne-", "admin-"))
    refused = await app.call("POST", OWN, as_whom="ada", json={"name": "Fourth"})
    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= timedelta(days=1).total_seconds()
    left = await app.call("POST", "/api/tenants/current/leave", as_whom="ada")
    assert told(left) == (409, "CONFLICT", [])
    await app.client.aclose()


async def test_a_tenant_of_a_day_ago_is_not_counted() -> None:
    app = await open_test_app({"TENANTRY_SELF_SERVICE_TENANTS": "on", "TENANTRY_CONFIRM_EMAIL": "false"})
    clock = app.adapters.clock
    assert isinstance(clock, MovableClock)
    await app.call("POST", "/api/auth/register", json={"email": ADA, **NEW})
    login = {"email": ADA, "password": NEW["password"], "isPasswordEncrypted": False}

    async def made(name: str) -> httpx.Response:
        app.tokens["ada"] = (await app.call("POST", "/api/auth/login", json=login)).json()["data"]["token"]
        return await app.call("POST", OWN, as_whom="ada", json={"name": name})

    for number in range(3):
        assert (await made(f"Tenant {number}")).status_code == 201
    clock.move(timedelta(days=1, microseconds=-1))
    refused = await made("Fourth")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    clock.move(timedelta(microseconds=1))
    assert (await made("Fourth")).status_code == 201
    await app.client.aclose()


async def test_tenants_that_are_passed_on_at_once_are_counted_all_the_same() -> None:
    app = await open_test_app({"TENANTRY_SELF_SERVICE_TENANTS": "on", "TENANTRY_CONFIRM_EMAIL": "false"})
    await app.call("POST", "/api/auth/register", json={"email": ADA, **NEW})
    login = {"email": ADA, "password": NEW["password"], "isPasswordEncrypted": False}
    app.tokens["ada"] = (await app.call("POST", "/api/auth/login", json=login)).json()["data"]["token"]
    ada = UUID(claims_of(app.tokens["ada"])["sub"])
    codes = []
    for number in range(CREATE_TENANT.count + 1):
        made = await app.call("POST", OWN, as_whom="ada", json={"name": f"Tenant {number}"})
        codes.append(made.status_code)
        if made.status_code == 429:
            break
        async with app.adapters.database.transaction(EveryTenant()) as tx:
            # As a transfer to another account leaves it.
            await tx.memberships.set_owner(ada, UUID(made.json()["data"]["id"]), False)
    assert codes == [201] * CREATE_TENANT.count + [429]
    await app.client.aclose()
