"""Known ways round second factors, a test for each."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from application.identity.factors.forms import VerifyForm
from application.identity.factors.proofs import FactorProofs, Proof, UsedNonce
from domain.errors import ValidationError
from domain.identity.users import User
from domain.scope import Client, EveryTenant
from tests.application.in_memory_service import HERE
from tests.authenticator import ELIGIBLE, PRESENT, VERIFIED, Authenticator
from tests.http.app import PASSWORD, Json, TestApp
from tests.http.identity.factors.factors import Person, actions, move
from tests.http.identity.factors.steps import claims_of

FOREIGN = "http://evil.example"


@pytest_asyncio.fixture
async def person(app: TestApp) -> Person:
    found = Person(app)
    await found.login()
    return found


def field_of(answer: Any) -> str:
    assert answer.status_code == 400, answer.text
    field: str = answer.json()["errors"][0]["field"]
    return field


@pytest.mark.promise("second factors, attacks: GHSA-xg6x-h9c9-2m83: a session that is usable before the second factor")
async def test_no_session_exists_before_the_second_factor(person: Person) -> None:
    """GHSA-xg6x-h9c9-2m83: a session that was usable before the second factor."""
    await person.add_app()
    path = "/api/auth/sessions"
    before = (await person.app.call("GET", path, as_whom=person.name)).json()["data"]["items"]
    answer = await person.login()
    assert answer.json()["errorCode"] == "MFA_REQUIRED"
    assert not {"token", "refreshToken"} & answer.json().keys()
    assert (await person.app.call("GET", path, as_whom=person.name)).json()["data"]["items"] == before
    as_token = {"Authorization": f"Bearer {answer.json()['mfa']['ticket']}"}
    assert (await person.app.client.get("/api/auth/me", headers=as_token)).status_code == 401


@pytest.mark.promise(
    "second factors, attacks: CVE-2025-6014, CVE-2025-55003, CVE-2026-33473: a code that serves twice, also at the "
    "same moment"
)
@pytest.mark.promise("second factors, ASVS 5.0: 6.5.1: codes serve once")
async def test_a_code_serves_once_also_at_the_same_moment(person: Person) -> None:
    """CVE-2025-6014, CVE-2025-55003, CVE-2026-33473: one code shown many times."""
    await person.add_app()
    tickets = [await person.ticket() for _ in range(4)]
    code = person.code()
    answers = await asyncio.gather(*(person.verify(ticket, code=code) for ticket in tickets))
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    again = await person.verify(await person.ticket(), code=code)
    assert field_of(again) == "code"
    earlier = await person.verify(await person.ticket(), code=person.code(off=-1))
    assert field_of(earlier) == "code"


@pytest.mark.promise(
    "second factors, attacks: CVE-2025-6014, CVE-2025-55003, CVE-2026-33473: a code that serves twice, also at the "
    "same moment"
)
async def test_the_code_that_confirmed_an_app_is_used(person: Person) -> None:
    await person.add_app()
    move(person.app, timedelta(seconds=-60))
    assert field_of(await person.verify(await person.ticket())) == "code"


@pytest.mark.promise("second factors, attacks: Guessing codes, over all networks; a stranger who locks somebody out")
@pytest.mark.promise("second factors, ASVS 5.0: 6.6.3: guesses of codes are limited")
async def test_guesses_of_codes_are_counted_over_all_networks_and_lock_only_the_factor(person: Person) -> None:
    await person.add_app()
    ticket = await person.ticket()
    answers = [await person.verify(ticket, code="000000") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [401]
    assert answers[-1].json()["errorCode"] == "ACCOUNT_LOCKED"
    right = await person.verify(await person.ticket(), code=person.code())
    assert (right.status_code, right.json()["errorCode"]) == (401, "ACCOUNT_LOCKED")
    recovery = await person.verify(await person.ticket(), "recovery", code=person.codes[0])
    assert recovery.json()["errorCode"] == "ACCOUNT_LOCKED"
    move(person.app, timedelta(minutes=15))
    assert (await person.verify(await person.ticket())).status_code == 200
    assert (await actions(person.app)).count("factor.refused") == 5


@pytest.mark.promise(
    "second factors, attacks: a ticket after a logout, twice, from another network, changed, of another kind"
)
async def test_a_ticket_survives_wrong_answers_and_a_right_one_spends_it(person: Person) -> None:
    await person.add_app()
    ticket = await person.ticket()
    assert field_of(await person.verify(ticket, code="000000")) == "code"
    assert (await person.verify(ticket)).status_code == 200
    move(person.app, timedelta(seconds=60))
    assert field_of(await person.verify(ticket)) == "ticket"


@pytest.mark.promise(
    "second factors, attacks: CVE-2026-16103: a state that is judged at the first half of a login only"
)
@pytest.mark.promise(
    "second factors, attacks: a ticket after a logout, twice, from another network, changed, of another kind"
)
@pytest.mark.parametrize("change", ["logout", "password", "disabled", "deleted"])
async def test_every_state_is_judged_again_when_the_factor_is_shown(person: Person, change: str) -> None:
    """CVE-2026-16103: a lock that was checked at the first half of a login only."""
    await person.add_app()
    ticket, user_id = await person.ticket(), claims_of(person.app.tokens[person.name])["sub"]
    app = person.app
    new = {"currentPassword": PASSWORD, "newPassword": "another fine password"}
    calls: dict[str, tuple[str, str, str, Json | None]] = {
        "logout": ("POST", "/api/auth/logout", person.name, None),
        "password": ("POST", "/api/auth/change-password", person.name, new),
        "disabled": ("PUT", f"/api/users/{user_id}", "acme", {"isActive": False}),
        "deleted": ("DELETE", f"/api/users/{user_id}", "acme", None),
    }
    method, path, whom, body = calls[change]
    assert (await app.call(method, path, as_whom=whom, json=body)).status_code == 200
    assert field_of(await person.verify(ticket)) == "ticket"


@pytest.mark.promise(
    "second factors, attacks: CVE-2026-16103: a state that is judged at the first half of a login only"
)
async def test_a_tenant_that_was_closed_meanwhile_is_not_entered(person: Person) -> None:
    await person.add_app()
    acme = claims_of(person.app.tokens["acme"])["tenant_id"]
    ticket = await person.ticket(preferredTenantId=acme)
    closed = await person.app.call("PUT", f"/api/tenants/{acme}", as_whom="root", json={"isActive": False})
    assert closed.status_code == 200
    assert (await person.verify(ticket)).status_code == 403


async def test_a_refusal_after_the_factor_gives_no_guess_at_the_password_back(person: Person) -> None:
    """The attempt was given back already, with the challenge."""
    await person.add_app()
    acme = claims_of(person.app.tokens["acme"])["tenant_id"]
    wrong = {"email": person.email, "password": "a wrong guess", "isPasswordEncrypted": False}
    for _ in range(4):
        await person.post("login", wrong)
    ticket = await person.ticket(preferredTenantId=acme)
    await person.app.call("PUT", f"/api/tenants/{acme}", as_whom="root", json={"isActive": False})
    assert (await person.verify(ticket)).status_code == 403
    await person.post("login", wrong)
    assert (await person.login()).json()["errorCode"] == "ACCOUNT_LOCKED"


@dataclass(frozen=True)
class InterruptedProofs(FactorProofs):
    """Proofs that run a callback once a factor was shown."""

    meanwhile: Callable[[], Awaitable[httpx.Response]]

    async def show(self, user: User, proof: Proof, client: Client, ticket: UsedNonce | None = None) -> tuple[str, ...]:
        methods = await super().show(user, proof, client, ticket)
        assert (await self.meanwhile()).status_code == 200
        return methods


@pytest.mark.parametrize("end", ["logout", "deleted"])
async def test_a_session_that_ends_during_the_second_factor_is_not_completed(person: Person, end: str) -> None:
    await person.add_app()
    ticket, user_id = await person.ticket(), claims_of(person.app.tokens[person.name])["sub"]
    calls = {
        "logout": lambda: person.app.call("POST", "/api/auth/logout", as_whom=person.name),
        "deleted": lambda: person.app.call("DELETE", f"/api/users/{user_id}", as_whom="acme"),
    }
    ours = person.app.services.second_factor
    interrupted = replace(ours, proofs=InterruptedProofs(**vars(ours.proofs), meanwhile=calls[end]))
    form = VerifyForm(ticket=ticket, method="totp", code=person.code())
    with pytest.raises(ValidationError) as refused:
        await interrupted.verify(form, HERE)
    assert [error.field for error in refused.value.fields] == ["ticket"]


@pytest.mark.promise(
    "second factors, attacks: a ticket after a logout, twice, from another network, changed, of another kind"
)
async def test_a_ticket_ends_after_five_minutes_and_no_other_text_is_one(person: Person) -> None:
    await person.add_app()
    ticket = await person.ticket()
    begun = (await person.post("passkeys/begin", {})).json()["data"]["state"]
    for text in ("", ticket[:-2], ticket[:40] + "A" + ticket[41:], begun, "x" * 10_000):
        assert field_of(await person.verify(text)) == "ticket"
    move(person.app, timedelta(minutes=5))
    assert field_of(await person.verify(ticket)) == "ticket"


@pytest.mark.promise(
    "second factors, attacks: a ticket after a logout, twice, from another network, changed, of another kind"
)
async def test_a_login_challenge_and_its_completion_are_both_audited(person: Person) -> None:
    await person.add_app()
    assert (await person.verify(await person.ticket())).status_code == 200
    found = await actions(person.app)
    assert found.index("factor.used") < found.index("login.challenged")


@pytest.mark.promise("second factors, attacks: a ticket of one account with a passkey of another")
async def test_a_passkey_of_somebody_else_finishes_no_login(person: Person) -> None:
    await person.add_passkey()
    other = Person(person.app, "admin@acme.example", "acme")
    await other.add_passkey()
    ticket = await person.ticket()
    begun = (await person.post("mfa/passkey", {"ticket": ticket})).json()["data"]
    shown = other.key.show(begun["options"])
    answer = await person.verify(ticket, "passkey", state=begun["state"], response=shown)
    assert field_of(answer) == "response"
    foreign = (await other.post("mfa/passkey", {"ticket": await other.ticket()})).json()["data"]
    response = person.key.show(foreign["options"])
    assert field_of(await person.verify(ticket, "passkey", state=foreign["state"], response=response)) == "state"


@pytest.mark.promise("second factors, attacks: PostHog#43625: a challenge that is kept after its use")
async def test_a_challenge_serves_once_whatever_comes_of_it(person: Person) -> None:
    """PostHog#43625, BossConsole#35: a challenge that is kept after its use, or taken from the body."""
    await person.add_passkey()
    ticket = await person.ticket()
    begun = (await person.post("mfa/passkey", {"ticket": ticket})).json()["data"]
    wrong = person.key.show(begun["options"], origin=FOREIGN)
    assert field_of(await person.verify(ticket, "passkey", state=begun["state"], response=wrong)) == "response"
    right = person.key.show(begun["options"])
    assert field_of(await person.verify(ticket, "passkey", state=begun["state"], response=right)) == "state"
    assert (await person.show_passkey(ticket)).status_code == 200


@pytest.mark.promise(
    "second factors, attacks: BossConsole#35: a challenge taken from the body, a foreign host, a counter nobody looks "
    "at"
)
async def test_a_challenge_of_another_ceremony_is_none(person: Person) -> None:
    await person.add_passkey()
    login = (await person.post("passkeys/begin", {})).json()["data"]
    ticket = await person.ticket()
    shown = person.key.show(login["options"])
    assert field_of(await person.verify(ticket, "passkey", state=login["state"], response=shown)) == "state"
    step = (await person.post("mfa/passkey", {"ticket": ticket})).json()["data"]
    body = {"state": step["state"], "response": person.key.show(step["options"])}
    assert field_of(await person.post("passkeys/finish", body)) == "state"
    assert field_of(await person.post("passkeys/finish", {**body, "state": ticket})) == "state"


@pytest.mark.promise("second factors, attacks: a page in a foreign frame")
@pytest.mark.parametrize("told", [{"origin": FOREIGN}, {"crossOrigin": True}, {"challenge": "AAAA"}], ids=str)
async def test_a_passkey_login_from_a_foreign_page_is_refused(person: Person, told: Json) -> None:
    await person.add_passkey()
    begun = (await person.post("passkeys/begin", {})).json()["data"]
    body = {"state": begun["state"], "response": person.key.show(begun["options"], **told)}
    assert field_of(await person.post("passkeys/finish", body)) == "response"


@pytest.mark.promise("second factors, attacks: a swapped user handle")
async def test_a_swapped_user_handle_is_refused(person: Person) -> None:
    await person.add_passkey()
    person.key.handle = b"h" * 32
    assert field_of(await person.passkey_login()) == "response"
    person.key.handle = b""
    assert field_of(await person.passkey_login()) == "response"


@pytest.mark.promise("second factors, attacks: a cleared bit for user verification")
async def test_a_passkey_that_did_not_verify_its_user_is_a_second_factor_only(person: Person) -> None:
    await person.add_passkey()
    person.key.flags = PRESENT
    assert field_of(await person.passkey_login()) == "response"
    answer = await person.show_passkey(await person.ticket())
    assert claims_of(answer.json()["data"]["token"])["amr"] == ["pwd", "hwk", "mfa"]


@pytest.mark.promise(
    "second factors, attacks: a key registered without verification that serves alone later (uvInitialized)"
)
async def test_a_passkey_registered_without_verification_cannot_replace_the_password(person: Person) -> None:
    """WebAuthn Level 3, uvInitialized; we-promise/sure#2911."""
    person.key = Authenticator(flags=PRESENT)
    await person.add_passkey()
    person.key.flags = PRESENT | VERIFIED
    assert field_of(await person.passkey_login()) == "response"
    answer = await person.show_passkey(await person.ticket())
    assert claims_of(answer.json()["data"]["token"])["amr"] == ["pwd", "hwk", "mfa"]


@pytest.mark.promise(
    "second factors, attacks: BossConsole#35: a challenge taken from the body, a foreign host, a counter nobody looks "
    "at"
)
@pytest.mark.parametrize("rollback", [0, 1, 5])
async def test_a_counter_that_does_not_grow_is_a_copy(person: Person, rollback: int) -> None:
    person.key.counter = 5
    await person.add_passkey()
    assert (await person.passkey_login()).status_code == 200
    person.key.counter = rollback  # the copy counts on from where it was made
    assert field_of(await person.passkey_login()) == "response"
    assert "factor.cloned" in await actions(person.app)
    while await person.app.services.relay.deliver():
        pass
    subjects = [message.subject for message in person.app.sent]
    assert "Tenantry: A passkey of yours may have been copied" in subjects


async def test_a_passkey_that_counts_nothing_is_taken_again_and_again(person: Person) -> None:
    person.key.counter = 0
    await person.add_passkey()
    for _ in range(3):
        assert (await person.passkey_login()).status_code == 200


@pytest.mark.promise("second factors, attacks: Backup eligibility that changes")
async def test_backup_eligibility_does_not_change(person: Person) -> None:
    await person.add_passkey()
    person.key.flags |= ELIGIBLE
    assert field_of(await person.passkey_login()) == "response"


@pytest.mark.promise("second factors, attacks: a credential registered for two accounts")
async def test_a_credential_belongs_to_the_first_who_registered_it(person: Person) -> None:
    await person.add_passkey()
    other = Person(person.app, "admin@acme.example", "acme")
    begun = await other.done("factors/passkeys/begin", {})
    body = {"state": begun["state"], "response": person.key.make(begun["options"])}
    refused = await other.post("factors/passkeys/finish", body, signed=True)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (409, "response")


@pytest.mark.promise("second factors, attacks: CVE-2026-8830: checks at registration that the server leaves out")
async def test_registration_is_checked_by_the_server(person: Person) -> None:
    """CVE-2026-8830: checks that only the browser made."""
    for told in ({"origin": FOREIGN}, {"crossOrigin": True}, {"type": "webauthn.get"}, {"challenge": "AAAA"}):
        begun = await person.done("factors/passkeys/begin", {})
        body = {"state": begun["state"], "response": person.key.make(begun["options"], **told)}
        assert field_of(await person.post("factors/passkeys/finish", body, signed=True)) == "response"


@pytest.mark.promise(
    "second factors, attacks: Setting up by an old token, by a Global Token (allowed), by a service account"
)
async def test_a_service_account_has_no_factors(person: Person) -> None:
    now = person.app.adapters.clock.now()
    claims = person.app.services.tokens.read(person.app.tokens["acme"], now)
    from msgspec.structs import replace

    person.app.tokens["robot"] = person.app.services.tokens.sign(replace(claims, kind="service"), now)
    for method, path in (("GET", "factors"), ("POST", "factors/totp/begin"), ("POST", "factors/recovery-codes")):
        body: Json | None = {} if method == "POST" else None
        answer = await person.app.call(method, f"/api/auth/{path}", as_whom="robot", json=body)
        assert answer.status_code == 403


@pytest.mark.promise(
    "second factors, attacks: Setting up by an old token, by a Global Token (allowed), by a service account"
)
async def test_a_global_token_sets_up_a_factor(person: Person) -> None:
    user_id = claims_of(person.app.tokens[person.name])["sub"]
    other = claims_of(person.app.tokens["other"])["tenant_id"]
    body = {"userId": user_id, "roles": []}
    await person.app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)
    assert (await person.login()).json()["data"]["isGlobal"] is True
    begun = await person.done("factors/totp/begin", {})
    code = person.code(secret=begun["secret"])
    await person.done("factors/totp/finish", {"state": begun["state"], "code": code}, 201)


@pytest.mark.promise("second factors, attacks: MFA_REQUIRED as an oracle for passwords, also by its time")
async def test_a_challenge_refunds_the_attempt_and_a_wrong_password_reveals_no_factor(person: Person) -> None:
    await person.add_app()
    for _ in range(7):
        await person.ticket()
    wrong = {"email": person.email, "password": "a wrong guess", "isPasswordEncrypted": False}
    refused = await person.post("login", wrong)
    assert (refused.status_code, refused.json()["errorCode"]) == (401, "INVALID_CREDENTIALS")
    assert "mfa" not in refused.json()


@pytest.mark.promise("second factors, attacks: a sealed secret copied between accounts in the database")
async def test_a_sealed_secret_copied_to_another_account_does_not_open(person: Person) -> None:
    """Whoever can write to the database cannot give an account an app of their own."""
    await person.add_app()
    other = Person(person.app, "admin@acme.example", "acme")
    await other.add_app()
    mine, theirs = (UUID(claims_of(person.app.tokens[name])["sub"]) for name in (person.name, other.name))
    async with person.app.adapters.database.transaction(EveryTenant()) as tx:
        (own,), (foreign,) = await tx.factors.of(mine), await tx.factors.of(theirs)
        from msgspec.structs import replace

        await tx.factors.remove(mine, own.id)
        await tx.factors.add(replace(own, sealed=foreign.sealed))
    assert field_of(await person.verify(await person.ticket(), code=person.code(secret=other.secret))) == "code"
