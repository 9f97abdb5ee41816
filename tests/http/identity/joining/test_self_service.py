"""People and their own accounts: deleting one, tenants of one's own, and the switch for registration.

An export of everything that is stored about oneself.

Accounts at social providers: listed, and unlinked as long as there is another way to log in.
"""

import asyncio
import json
from datetime import timedelta
from typing import cast
from uuid import UUID

import httpx
import pytest
from msgspec.structs import replace

from adapters.http.identity.joining.ownership import CREATE_TENANT
from adapters.memory.clock import MovableClock
from adapters.memory.identity.social import MemorySocialProviders
from application.identity.joining.own_tenants import identifier_of
from domain.scope import EveryTenant
from tests.contracts.identity.login.test_factors import passkey_of
from tests.http.app import ADMIN, PASSWORD, open_test_app
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.joining.invited import ADA, NEW, Invited, told
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


async def test_without_registration_accounts_are_created_only_by_invitation() -> None:
    app = await open_test_app({"TENANTRY_SELF_REGISTRATION": "off"})
    body = {"email": ADA, **NEW}
    refused = await app.call("POST", "/api/auth/register", json=body)
    assert told(refused) == (403, "FORBIDDEN", [])
    await app.login("root", ADMIN, SYSTEM)
    assert (await app.call("POST", "/api/invitations", as_whom="root", json={"email": ADA})).status_code == 201
    await app.client.aclose()


OWN = "/api/auth/tenants"


@pytest.mark.promise("POST /api/auth/tenants")
async def test_users_cannot_create_tenants_when_the_setting_is_off(invited: Invited) -> None:
    answer = await invited.tenants.call("member", "POST", OWN, {"name": "Mine"})
    assert told(answer) == (404, "NOT_FOUND", [])


def test_an_identifier_is_made_of_the_first_200_characters_of_a_name() -> None:
    assert identifier_of("-" * 199 + "x" + "y" * 8_000) == "x"


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


PATH = "/api/auth/me/export"


@pytest.mark.promise("GET /api/auth/me/export")
async def test_a_user_can_export_their_stored_data(invited: Invited) -> None:
    await invited.invite(whom="admin")
    answer = await invited.tenants.call("admin", "GET", PATH)
    data = answer.json()["data"]
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert (data["account"]["email"], data["account"]["hasPassword"]) == (email_of("admin"), True)
    assert [(held["tenantName"], held["roles"]) for held in data["memberships"]] == [("Acme", ["Admin"])]
    assert [session["methods"] for session in data["sessions"]] == [["pwd"]]
    assert [sent["status"] for sent in data["invitationsSent"]] == ["pending"]
    assert "invitation.sent" in {line["action"] for line in data["events"]}


@pytest.mark.promise(
    "tenants, own account: an export is complete, of nobody else, without secrets; a new table or column is noticed"
)
async def test_a_personal_export_contains_no_secret_and_no_address_of_others(invited: Invited) -> None:
    await invited.invite("somebody.else@example.com", whom="admin")
    text = (await invited.tenants.call("admin", "GET", PATH)).text
    assert "somebody.else" not in text
    for stored in invited.database.committed().users.values():
        assert stored.password_hash is None or stored.password_hash not in text
    for invitation in invited.database.committed().invitations.values():
        assert invitation.hash not in text
    assert PASSWORD not in text
    assert "argon2" not in text
    assert email_of("clerk") not in json.dumps(text)


@pytest.mark.promise(
    "tenants, own account: an export is complete, of nobody else, without secrets; a new table or column is noticed"
)
async def test_it_asks_for_a_recent_proof_of_a_person(invited: Invited) -> None:
    services, now = invited.tenants.app.services, invited.clock.now()
    claims = services.tokens.read(invited.tenants.app.tokens["member"], now)
    invited.tenants.app.tokens["old"] = services.tokens.sign(replace(claims, auth_time=0), now)
    invited.tenants.app.tokens["machine"] = services.tokens.sign(replace(claims, kind="service"), now)
    assert told(await invited.tenants.call("old", "GET", PATH))[:2] == (401, "REAUTHENTICATION_REQUIRED")
    assert told(await invited.tenants.call("machine", "GET", PATH))[:2] == (403, "FORBIDDEN")


PATH_OF_IDENTITIES = "/api/auth/identities"


@pytest.fixture
async def linked(invited: Invited) -> Invited:
    """The member has an account at two providers, of which the service knows one, and no password."""
    user_id = UUID(invited.tenants.users["member"])
    async with invited.database.transaction(EveryTenant()) as tx:
        await tx.social.link("google", "1", user_id, invited.clock.now())
        await tx.social.link("retired", "2", user_id, invited.clock.now())
        state = await tx.users.state(user_id)
        assert state is not None
        await tx.users.save(replace(state.user, password_hash=None), state.user)
    return invited


async def unlink(invited: Invited, provider: str = "google", whom: str = "member") -> tuple[int, str]:
    answer = await invited.tenants.call(whom, "DELETE", f"{PATH_OF_IDENTITIES}/{provider}")
    return answer.status_code, answer.json().get("errorCode", "")


async def with_password(invited: Invited) -> None:
    user_id = UUID(invited.tenants.users["member"])
    async with invited.database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(user_id, "hash", invited.clock.now())


@pytest.mark.promise("GET /api/auth/identities")
async def test_ones_identities_are_listed(linked: Invited) -> None:
    listed = (await linked.tenants.call("member", "GET", PATH_OF_IDENTITIES)).json()["data"]
    assert [(item["provider"], item.keys()) for item in listed] == [
        ("google", {"provider", "linkedAt"}),
        ("retired", {"provider", "linkedAt"}),
    ]
    assert (await linked.tenants.call("clerk", "GET", PATH_OF_IDENTITIES)).json()["data"] == []


@pytest.mark.promise("DELETE /api/auth/identities/{provider}")
@pytest.mark.promise("tenants, own account: the only way to log in stays, also when two are unlinked at once")
async def test_the_only_way_in_stays(linked: Invited) -> None:
    """An identity at a provider that the service does not ask any more is no way in."""
    assert await unlink(linked) == (409, "CONFLICT")
    assert await linked.mails() == []


@pytest.mark.promise("DELETE /api/auth/identities/{provider}")
async def test_a_password_is_another_way(linked: Invited) -> None:
    await with_password(linked)
    assert await unlink(linked) == (200, "")
    assert await unlink(linked) == (404, "NOT_FOUND")
    (mail,) = await linked.mails()
    assert (mail.to, mail.subject.partition(": ")[2]) == (
        email_of("member"),
        "A way to log in was removed from your account",
    )
    assert "google" in mail.text
    assert "links it again" in " ".join(mail.text.split())
    assert linked.actions()[-1] == "identity.unlinked"


async def test_the_answer_to_unlinking_says_that_a_login_links_the_identity_again(linked: Invited) -> None:
    """A later login with the same address links it again: tests/application/identity/social/test_social_claims.py."""
    await with_password(linked)
    said = (await linked.tenants.call("member", "DELETE", f"{PATH_OF_IDENTITIES}/google")).json()["message"]
    assert said == "The account is unlinked. A login by it links it again while it has your address."


@pytest.mark.promise("tenants, own account: the only way to log in stays, also when two are unlinked at once")
@pytest.mark.parametrize(("verifies", "expected"), [(True, (200, "")), (False, (409, "CONFLICT"))])
async def test_a_passkey_is_another_way_if_it_knows_its_user(
    linked: Invited, verifies: bool, expected: tuple[int, str]
) -> None:
    async with linked.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(UUID(linked.tenants.users["member"]))
        assert state is not None
        passkey = passkey_of(state.user)
        assert passkey.credential is not None
        await tx.factors.add(replace(passkey, credential=replace(passkey.credential, uv_initialized=verifies)))
    assert await unlink(linked) == expected


@pytest.mark.promise("tenants, own account: the only way to log in stays, also when two are unlinked at once")
async def test_another_provider_is_another_way_and_of_two_at_once_one_stays(linked: Invited) -> None:
    user_id = UUID(linked.tenants.users["member"])
    async with linked.database.transaction(EveryTenant()) as tx:
        await tx.social.link("github", "3", user_id, linked.clock.now())
    providers = cast(MemorySocialProviders, linked.tenants.app.adapters.social)
    assert isinstance(providers.names, dict)
    providers.names.update(dict.fromkeys(("google", "github")))
    outcomes = await asyncio.gather(unlink(linked, "google"), unlink(linked, "GitHub"))
    assert sorted(status for status, _ in outcomes) == [200, 409]


@pytest.mark.promise("tenants, own account: nobody unlinks for others")
async def test_unlinking_an_identity_requires_its_owner_and_a_recent_proof(linked: Invited) -> None:
    assert await unlink(linked, whom="clerk") == (404, "NOT_FOUND")
    services, now = linked.tenants.app.services, linked.clock.now()
    claims = services.tokens.read(linked.tenants.app.tokens["member"], now)
    linked.tenants.app.tokens["old"] = services.tokens.sign(replace(claims, auth_time=0), now)
    linked.tenants.app.tokens["machine"] = services.tokens.sign(replace(claims, kind="service"), now)
    assert await unlink(linked, whom="old") == (401, "REAUTHENTICATION_REQUIRED")
    assert await unlink(linked, whom="machine") == (403, "FORBIDDEN")
    assert told(await linked.tenants.call("machine", "GET", PATH_OF_IDENTITIES))[:2] == (403, "FORBIDDEN")


async def test_a_passkey_that_is_the_only_way_in_stays(linked: Invited, monkeypatch: pytest.MonkeyPatch) -> None:
    providers = cast(MemorySocialProviders, linked.tenants.app.adapters.social)
    assert isinstance(providers.names, dict)
    # other tests share the providers
    monkeypatch.delitem(providers.names, "google", raising=False)
    async with linked.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(UUID(linked.tenants.users["member"]))
        assert state is not None
        passkey = passkey_of(state.user)
        await tx.factors.add(passkey)

    async def remove() -> tuple[int, str]:
        answer = await linked.tenants.call("member", "DELETE", f"/api/auth/factors/{passkey.id}")
        return answer.status_code, answer.json().get("errorCode", "")

    assert await remove() == (409, "CONFLICT")
    monkeypatch.setitem(providers.names, "google", None)
    # of the two ways that are left one goes, whichever is asked for first
    assert sorted(status for status, _ in await asyncio.gather(remove(), unlink(linked))) == [200, 409]
