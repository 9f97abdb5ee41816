"""Guesses of second factors: what counts as one, and who ends the lock that they bring."""

from datetime import timedelta

import pytest_asyncio

from tests.http.app import TestApp
from tests.http.identity.factors import Person, actions, move
from tests.http.identity.steps import claims_of


@pytest_asyncio.fixture
async def person(app: TestApp) -> Person:
    found = Person(app)
    await found.login()
    return found


async def test_a_proof_without_its_parts_is_no_guess(person: Person) -> None:
    await person.add_app()
    ticket = await person.ticket()
    for method, missing in (("totp", ["code"]), ("recovery", ["code"]), ("passkey", ["state", "response"])) * 2:
        refused = await person.post("mfa/verify", {"ticket": ticket, "method": method})
        assert (refused.status_code, [error["field"] for error in refused.json()["errors"]]) == (400, missing)
    assert (await person.verify(ticket)).status_code == 200
    assert "factor.refused" not in await actions(person.app)


async def test_an_administrator_lifts_the_lock_of_wrong_codes(person: Person) -> None:
    await person.add_app()
    user_id = claims_of(person.app.tokens[person.name])["sub"]
    for method, path in (("POST", f"/api/users/{user_id}/unlock"), ("DELETE", f"/api/users/{user_id}/factors")):
        ticket = await person.ticket()
        answers = [await person.verify(ticket, code="000000") for _ in range(6)]
        assert answers[-1].json()["errorCode"] == "ACCOUNT_LOCKED"
        assert (await person.app.call(method, path, as_whom="acme")).status_code == 200
        if method == "POST":
            assert (await person.verify(ticket)).status_code == 200
            move(person.app, timedelta(seconds=90))  # the limit of such requests, and the code that was used
    # A new app is not kept waiting by the guesses at the lost one
    await person.login()
    await person.add_app()
    assert (await person.verify(await person.ticket())).status_code == 200
