"""Second factors on the wire: no token and no session before they are shown.

Guesses of second factors: what counts as one, and who ends the lock that they bring.

A factor is set up by whoever has just proved who they are: no way in for a token that was stolen earlier.
"""

from datetime import timedelta
from uuid import UUID

import httpx
import pyotp
import pytest
import pytest_asyncio
from msgspec.structs import replace

from domain.identity.factors import FACTOR_GUESSES
from domain.scope import EveryTenant
from tests.builders import link_in, said_by
from tests.http.app import PASSWORD, Json, TestApp
from tests.http.identity.factors.factors import Person, actions, ask_for_factors, move
from tests.http.identity.factors.steps import claims_of


@pytest_asyncio.fixture
async def person(app: TestApp) -> Person:
    found = Person(app)
    await found.login()
    return found


@pytest.mark.promise("POST /api/auth/mfa/verify")
@pytest.mark.promise("POST /api/auth/factors/totp/begin")
@pytest.mark.promise("POST /api/auth/factors/totp/finish")
async def test_an_app_is_set_up_and_asked_for(person: Person) -> None:
    made = await person.add_app()
    assert (made["kind"], made["name"], len(made["recoveryCodes"])) == ("totp", "Phone", 10)
    answer = await person.login()
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "MFA_REQUIRED")
    assert answer.json()["mfa"].keys() == {"ticket", "methods", "expiresAt"}
    assert answer.json()["mfa"]["methods"] == ["totp", "recovery"]
    verified = await person.verify(answer.json()["mfa"]["ticket"])
    assert verified.status_code == 200, verified.text
    claims = claims_of(verified.json()["data"]["token"])
    assert claims["amr"] == ["pwd", "otp", "mfa"]
    assert claims["auth_time"] == int(person.app.adapters.clock.now().timestamp())
    assert {"login.challenged", "factor.added", "factor.used", "recovery-codes.made"} <= set(await actions(person.app))


@pytest.mark.promise("POST /api/auth/mfa/passkey")
@pytest.mark.promise("POST /api/auth/passkeys/begin")
@pytest.mark.promise("POST /api/auth/passkeys/finish")
@pytest.mark.promise("POST /api/auth/factors/passkeys/begin")
@pytest.mark.promise("POST /api/auth/factors/passkeys/finish")
async def test_a_passkey_is_a_second_factor_and_a_complete_login(person: Person) -> None:
    await person.add_passkey()
    answer = await person.show_passkey(await person.ticket())
    assert answer.status_code == 200, answer.text
    assert claims_of(answer.json()["data"]["token"])["amr"] == ["pwd", "hwk", "user", "mfa"]
    alone = await person.passkey_login()
    assert alone.status_code == 200, alone.text
    assert claims_of(alone.json()["data"]["token"])["amr"] == ["hwk", "user", "mfa"]


@pytest.mark.promise("POST /api/auth/reauthenticate/passkey")
async def test_who_has_a_factor_shows_one_again(person: Person) -> None:
    await person.add_app()
    await person.add_passkey()
    move(person.app, timedelta(minutes=11))
    weak = await person.post("reauthenticate", {"password": PASSWORD}, signed=True)
    assert (weak.status_code, weak.json()["errors"][0]["field"]) == (400, "code")
    by_code = await person.done("reauthenticate", {"code": person.code()})
    assert claims_of(by_code["token"])["amr"] == ["pwd", "otp", "mfa"]
    asked = await person.done("reauthenticate/passkey", {})
    shown = {"state": asked["state"], "response": person.key.show(asked["options"])}
    by_key = await person.done("reauthenticate", shown)
    assert claims_of(by_key["token"])["amr"] == ["pwd", "otp", "mfa", "hwk", "user"]
    by_recovery = await person.done("reauthenticate", {"code": person.codes[0]})
    assert by_recovery["token"]


async def test_half_of_a_passkeys_answer_lacks_the_other_half_and_no_code(person: Person) -> None:
    await person.add_passkey()
    asked = await person.done("reauthenticate/passkey", {})
    whole = {"state": asked["state"], "response": person.key.show(asked["options"])}
    for sent, missing in (("state", "response"), ("response", "state")):
        refused = await person.post("reauthenticate", {sent: whole[sent]}, signed=True)
        assert (refused.status_code, [wrong["field"] for wrong in refused.json()["errors"]]) == (400, [missing])


async def test_a_proof_without_its_required_fields_is_not_counted_as_a_guess(person: Person) -> None:
    await person.add_app()
    await person.add_passkey()
    ticket = await person.ticket()
    for method, missing in (("totp", ["code"]), ("recovery", ["code"]), ("passkey", ["state", "response"])) * 2:
        refused = await person.post("mfa/verify", {"ticket": ticket, "method": method})
        assert (refused.status_code, [error["field"] for error in refused.json()["errors"]]) == (400, missing)
    assert (await person.verify(ticket)).status_code == 200
    assert "factor.refused" not in await actions(person.app)


async def test_finishing_a_factor_without_its_required_field_names_the_field(person: Person) -> None:
    for kind, missing in (("totp", "code"), ("passkeys", "response")):
        begun = await person.done(f"factors/{kind}/begin", {})
        refused = await person.post(f"factors/{kind}/finish", {"state": begun["state"]}, signed=True)
        assert refused.status_code == 400
        assert refused.json()["errors"] == [{"field": missing, "message": "is required"}]


async def test_an_incomplete_enrolment_is_not_counted_as_a_guess(person: Person) -> None:
    await ask_for_factors(person.app, claims_of(person.app.tokens[person.name])["tenant_id"])
    ticket = (await person.login()).json()["mfa"]["ticket"]
    begun: Json = {}
    for kind, missing in (("passkey", "response"), ("totp", "code")) * 2:
        begun = (await person.post("mfa/enrol", {"ticket": ticket, "kind": kind})).json()["data"]
        refused = await person.post("mfa/enrol/finish", {"ticket": ticket, "state": begun["state"]})
        assert refused.status_code == 400
        assert refused.json()["errors"] == [{"field": missing, "message": "is required"}]
    body = {"ticket": ticket, "state": begun["state"], "code": person.code(secret=begun["secret"])}
    for _ in range(2):
        refused = await person.post("mfa/enrol/finish", {**body, "name": "Two\nlines"})
        assert [error["field"] for error in refused.json()["errors"]] == ["name"]
    assert (await person.post("mfa/enrol/finish", body)).status_code == 200


@pytest.mark.promise(
    "second factors, attacks: who removes the factors ends the lock of wrong codes, and who unlocks the address does "
    "not"
)
async def test_only_removing_the_factors_ends_the_lock_of_wrong_codes(
    person: Person,
) -> None:
    await person.add_app()
    user_id = claims_of(person.app.tokens[person.name])["sub"]
    ticket = await person.ticket()
    answers = [await person.verify(ticket, code="000000") for _ in range(6)]
    assert answers[-1].json()["errorCode"] == "ACCOUNT_LOCKED"
    until = f"{person.app.adapters.clock.now() + FACTOR_GUESSES.duration:%Y-%m-%dT%H:%M:%S}"
    shown = (await person.app.call("GET", f"/api/users/{user_id}", as_whom="acme")).json()["data"]
    assert (shown["isLocked"], shown["secondFactorsLockedUntil"][:19]) == (False, until)
    unlocked = await person.app.call("POST", f"/api/users/{user_id}/unlock", as_whom="acme")
    assert (unlocked.status_code, unlocked.json()["data"]["secondFactorsLockedUntil"][:19]) == (200, until)
    assert (await person.verify(ticket)).json()["errorCode"] == "ACCOUNT_LOCKED"
    assert (await person.app.call("DELETE", f"/api/users/{user_id}/factors", as_whom="acme")).status_code == 200
    shown = (await person.app.call("GET", f"/api/users/{user_id}", as_whom="acme")).json()["data"]
    assert shown["secondFactorsLockedUntil"] is None
    # A new app is not kept waiting by the guesses at the lost one
    await person.login()
    await person.add_app()
    assert (await person.verify(await person.ticket())).status_code == 200


def tenant_of(person: Person, name: str = "acme") -> str:
    tenant_id: str = claims_of(person.app.tokens[name])["tenant_id"]
    return tenant_id


def said(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["errorCode"]


async def switched(person: Person) -> httpx.Response:
    return await person.post("switch-tenant", {"tenantId": tenant_of(person)}, signed=True)


async def enrolled(person: Person, ticket: str) -> httpx.Response:
    """The answer to a new app for the ticket."""
    answer = await person.post("mfa/enrol", {"ticket": ticket, "kind": "totp"})
    assert answer.status_code == 200, answer.text
    begun = answer.json()["data"]
    person.secret = begun["secret"]
    code = pyotp.TOTP(begun["secret"]).at(int(person.app.clock.now().timestamp()))
    return await person.post("mfa/enrol/finish", {"ticket": ticket, "state": begun["state"], "code": code})


@pytest.mark.promise("second factors, ASVS 5.0: 7.5.1: a proof is shown anew before factors change")
async def test_an_old_session_must_be_proved_again_before_a_factor_is_added_at_a_switch(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person))
    move(person.app, timedelta(minutes=10))
    assert said(await switched(person)) == (403, "MFA_ENROLMENT_REQUIRED")
    move(person.app, timedelta(seconds=1))
    refused = await switched(person)
    assert said(refused) == (401, "REAUTHENTICATION_REQUIRED")
    assert "mfa" not in refused.json()
    assert "insufficient_user_authentication" in refused.headers["WWW-Authenticate"]
    # The session's own tenant asks as well: the proof itself comes with the ticket.
    proved = await person.post("reauthenticate", {"password": PASSWORD, "isPasswordEncrypted": False}, signed=True)
    assert said(proved) == (401, "MFA_ENROLMENT_REQUIRED")
    done = await enrolled(person, proved.json()["mfa"]["ticket"])
    assert done.status_code == 200, done.text
    assert len(done.json()["data"]["recoveryCodes"]) == 10


async def test_a_right_password_without_a_required_factor_is_not_counted_as_a_guess(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person))
    for _ in range(6):
        proved = await person.post("reauthenticate", {"password": PASSWORD, "isPasswordEncrypted": False}, signed=True)
        assert said(proved) == (401, "MFA_ENROLMENT_REQUIRED")


async def test_a_switch_is_repeated_when_only_the_target_tenant_requires_a_factor(person: Person) -> None:
    user_id, other = claims_of(person.app.tokens[person.name])["sub"], tenant_of(person, "other")
    joined = await person.app.call(
        "POST", f"/api/tenants/{other}/users", as_whom="root", json={"userId": user_id, "roles": []}
    )
    assert joined.status_code == 201, joined.text
    await person.login(preferredTenantId=tenant_of(person))
    await ask_for_factors(person.app, other)
    move(person.app, timedelta(minutes=11))
    refused = await person.post("switch-tenant", {"tenantId": other}, signed=True)
    assert said(refused) == (401, "REAUTHENTICATION_REQUIRED")
    proved = await person.done("reauthenticate", {"password": PASSWORD, "isPasswordEncrypted": False})
    person.app.tokens[person.name] = proved["token"]
    asked = await person.post("switch-tenant", {"tenantId": other}, signed=True)
    assert said(asked) == (403, "MFA_ENROLMENT_REQUIRED")
    done = await enrolled(person, asked.json()["mfa"]["ticket"])
    assert done.json()["data"]["currentTenant"]["id"] == other


async def test_an_old_session_logs_in_again_where_its_refresh_needs_a_factor(person: Person) -> None:
    session = (await person.login()).json()["data"]
    await ask_for_factors(person.app, tenant_of(person))
    move(person.app, timedelta(minutes=11))
    refused = await person.post("refresh", {"refreshToken": session["refreshToken"]})
    assert said(refused) == (401, "TOKEN_EXPIRED")
    assert "mfa" not in refused.json()
    again = await person.login()
    assert (await enrolled(person, again.json()["mfa"]["ticket"])).status_code == 200
    # The session of before was not ended by it: it shows the factor, as every session does.
    assert said(await person.post("refresh", {"refreshToken": session["refreshToken"]})) == (403, "MFA_REQUIRED")


async def test_a_session_of_which_no_proof_is_known_counts_as_old(person: Person) -> None:
    await without_proofs(person)
    await ask_for_factors(person.app, tenant_of(person))
    assert said(await switched(person)) == (401, "REAUTHENTICATION_REQUIRED")


async def test_a_session_of_which_no_proof_is_known_gets_through_by_a_factor(person: Person) -> None:
    session = (await person.login()).json()["data"]
    await person.add_app()
    await without_proofs(person)
    await ask_for_factors(person.app, tenant_of(person))
    refused = await person.post("refresh", {"refreshToken": session["refreshToken"]})
    assert said(refused) == (403, "MFA_REQUIRED")
    shown = await person.verify(refused.json()["mfa"]["ticket"])
    assert shown.status_code == 200, shown.text
    assert claims_of(shown.json()["data"]["token"])["amr"] == ["otp", "mfa"]


async def without_proofs(person: Person) -> None:
    """As sessions are that were begun before it was kept how they were proved."""
    session_id = UUID(claims_of(person.app.tokens[person.name])["sid"])
    async with person.app.database.transaction(EveryTenant()) as tx:
        session = await tx.sessions.by_id(session_id)
        assert session is not None
        bare = replace(session, methods=(), authenticated_at=None)
        assert await tx.sessions.rotate(bare, seen=session.counter)


async def test_an_invited_user_adds_a_required_factor_while_accepting(person: Person) -> None:
    app = person.app
    asked = await app.call("POST", "/api/invitations", as_whom="acme", json={"email": "ada@example.com", "roles": []})
    assert asked.status_code == 201, asked.text
    while await app.services.relay.deliver():
        pass
    token = said_by(link_in(app.sent[-1]))["token"]
    await ask_for_factors(app, tenant_of(person))
    body = {"token": token, "fullName": "Ada Byron", "password": "a first password", "isPasswordEncrypted": False}
    waits = await person.post("invitations/accept", body)
    assert said(waits) == (401, "MFA_ENROLMENT_REQUIRED")
    done = await enrolled(person, waits.json()["mfa"]["ticket"])
    assert done.status_code == 200, done.text
    data = done.json()["data"]
    assert (len(data["recoveryCodes"]), claims_of(data["token"])["amr"]) == (10, ["pwd", "otp", "mfa"])
