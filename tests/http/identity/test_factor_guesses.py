"""Guesses of second factors: what counts as one, and who ends the lock that they bring."""

import pytest
import pytest_asyncio

from domain.identity.factors import FACTOR_GUESSES
from tests.http.app import Json, TestApp
from tests.http.identity.factors import Person, actions, ask_for_factors
from tests.http.identity.steps import claims_of


@pytest_asyncio.fixture
async def person(app: TestApp) -> Person:
    found = Person(app)
    await found.login()
    return found


async def test_a_proof_without_its_parts_is_no_guess(person: Person) -> None:
    await person.add_app()
    await person.add_passkey()
    ticket = await person.ticket()
    for method, missing in (("totp", ["code"]), ("recovery", ["code"]), ("passkey", ["state", "response"])) * 2:
        refused = await person.post("mfa/verify", {"ticket": ticket, "method": method})
        assert (refused.status_code, [error["field"] for error in refused.json()["errors"]]) == (400, missing)
    assert (await person.verify(ticket)).status_code == 200
    assert "factor.refused" not in await actions(person.app)


async def test_a_factor_that_is_finished_without_its_part_is_told_which(person: Person) -> None:
    for kind, missing in (("totp", "code"), ("passkeys", "response")):
        begun = await person.done(f"factors/{kind}/begin", {})
        refused = await person.post(f"factors/{kind}/finish", {"state": begun["state"]}, signed=True)
        assert refused.status_code == 400
        assert refused.json()["errors"] == [{"field": missing, "message": "is required"}]


async def test_an_enrolment_without_its_part_or_with_a_wrong_name_is_no_guess(person: Person) -> None:
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
async def test_who_removes_the_factors_ends_the_lock_of_wrong_codes_and_who_unlocks_the_address_does_not(
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
