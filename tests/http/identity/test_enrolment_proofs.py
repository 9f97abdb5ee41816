"""A factor is set up by whoever has just proved who they are: no way in for a token that was stolen earlier."""

from datetime import timedelta
from uuid import UUID

import httpx
import pyotp
import pytest
import pytest_asyncio
from msgspec.structs import replace

from domain.scope import EveryTenant
from tests.http.app import PASSWORD, TestApp
from tests.http.identity.factors import Person, ask_for_factors, move
from tests.http.identity.steps import claims_of
from tests.mails import link_in, said_by


@pytest_asyncio.fixture
async def person(app: TestApp) -> Person:
    found = Person(app)
    await found.login()
    return found


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
async def test_an_old_session_sets_up_no_factor_at_a_switch_before_it_is_proved_anew(person: Person) -> None:
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


async def test_a_right_password_is_no_guess_where_a_factor_is_still_missing(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person))
    for _ in range(6):
        proved = await person.post("reauthenticate", {"password": PASSWORD, "isPasswordEncrypted": False}, signed=True)
        assert said(proved) == (401, "MFA_ENROLMENT_REQUIRED")


async def test_where_the_session_s_own_tenant_asks_for_nothing_the_switch_is_repeated(person: Person) -> None:
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


async def test_who_is_invited_where_a_factor_is_required_sets_one_up_and_is_in(person: Person) -> None:
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
