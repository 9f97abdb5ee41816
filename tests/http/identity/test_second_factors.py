"""Second factors on the wire: no token and no session before they are shown."""

from datetime import timedelta

import pytest
import pytest_asyncio

from tests.http.app import PASSWORD, TestApp
from tests.http.identity.factors import Person, actions, move
from tests.http.identity.steps import claims_of


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
async def test_a_passkey_is_a_second_factor_and_a_login_by_itself(person: Person) -> None:
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
