"""One's own factors, and their removal by an administrator."""

from datetime import timedelta

import pytest
import pytest_asyncio

from domain.scope import EveryTenant
from tests.authenticator import Authenticator
from tests.http.app import TestApp
from tests.http.identity.factors.factors import Person, actions, ask_for_factors, move
from tests.http.identity.factors.steps import claims_of


@pytest_asyncio.fixture
async def person(app: TestApp) -> Person:
    found = Person(app)
    await found.login()
    return found


async def listed(person: Person) -> tuple[list[dict[str, object]], int]:
    answer = await person.app.call("GET", "/api/auth/factors", as_whom=person.name)
    assert answer.status_code == 200, answer.text
    assert answer.json()["isSuccess"] is True
    return answer.json()["data"], answer.json()["recoveryCodesLeft"]


@pytest.mark.promise("GET /api/auth/factors")
@pytest.mark.promise("PUT /api/auth/factors/{factor_id}")
@pytest.mark.promise("DELETE /api/auth/factors/{factor_id}")
async def test_factors_are_listed_renamed_and_removed(person: Person) -> None:
    assert await listed(person) == ([], 0)
    app, key = await person.add_app(), await person.add_passkey()
    assert "recoveryCodes" not in key
    factors, left = await listed(person)
    assert [factor["kind"] for factor in factors] == ["totp", "passkey"]
    assert left == 10
    assert factors[1]["isSynced"] is False
    assert not {"sealed", "secret", "credential", "publicKey"} & {name for factor in factors for name in factor}
    renamed = await person.app.call(
        "PUT", f"/api/auth/factors/{app['id']}", as_whom=person.name, json={"name": "Old phone"}
    )
    assert renamed.json()["data"]["name"] == "Old phone"
    for factor in (app, key):
        removed = await person.app.call("DELETE", f"/api/auth/factors/{factor['id']}", as_whom=person.name)
        assert removed.status_code == 200, removed.text
    assert await listed(person) == ([], 0)
    assert (await person.login()).status_code == 200
    assert (await actions(person.app)).count("factor.removed") == 2


async def test_a_factor_name_follows_the_rules_of_other_names(person: Person) -> None:
    made = await person.add_app()
    begun, key = await person.done("factors/totp/begin", {}), await person.done("factors/passkeys/begin", {})
    of_app = {"state": begun["state"], "code": person.code(secret=begun["secret"])}
    of_key = {"state": key["state"], "response": person.key.make(key["options"])}
    for name in ("Two\nlines", "Two\u2028lines", "enohP\u202e", "\u200b"):
        for method, path, body in (
            ("PUT", made["id"], {}),
            ("POST", "totp/finish", of_app),
            ("POST", "passkeys/finish", of_key),
        ):
            json = {**body, "name": name}
            refused = await person.app.call(method, f"/api/auth/factors/{path}", as_whom=person.name, json=json)
            assert (refused.status_code, [error["field"] for error in refused.json()["errors"]]) == (400, ["name"])
    # What was begun is not used up.
    await person.done("factors/passkeys/finish", {**of_key, "name": "Key"}, 201)


async def test_a_factor_of_another_user_is_not_found(person: Person) -> None:
    made = await person.add_app()
    for method, body in (("PUT", {"name": "Mine"}), ("DELETE", None)):
        path = f"/api/auth/factors/{made['id']}"
        assert (await person.app.call(method, path, as_whom="acme", json=body)).status_code == 404


@pytest.mark.promise("POST /api/auth/factors/recovery-codes")
async def test_new_recovery_codes_end_the_older_ones(person: Person) -> None:
    refused = await person.post("factors/recovery-codes", {}, signed=True)
    assert refused.status_code == 409
    await person.add_app()
    old = person.codes
    new = (await person.done("factors/recovery-codes", {}, 201))["recoveryCodes"]
    assert len(set(new) - set(old)) == 10
    ticket = await person.ticket()
    assert (await person.verify(ticket, "recovery", code=old[0])).status_code == 400
    verified = await person.verify(ticket, "recovery", code=new[0].lower().replace("-", " "))
    assert verified.status_code == 200
    assert verified.json()["data"]["mustAddFactor"] is True
    assert (await listed(person))[1] == 9
    assert (await person.verify(await person.ticket(), "recovery", code=new[0])).status_code == 400


async def test_the_last_factor_stays_while_a_tenant_requires_one(person: Person) -> None:
    made = await person.add_app()
    acme = claims_of(person.app.tokens["acme"])["tenant_id"]
    await ask_for_factors(person.app, acme)
    path = f"/api/auth/factors/{made['id']}"
    assert (await person.app.call("DELETE", path, as_whom=person.name)).status_code == 409
    await person.add_passkey()
    assert (await person.app.call("DELETE", path, as_whom=person.name)).status_code == 200
    (left,), _ = await listed(person)
    refused = await person.app.call("DELETE", f"/api/auth/factors/{left['id']}", as_whom=person.name)
    assert refused.status_code == 409
    await ask_for_factors(person.app, acme, require_mfa=False)
    assert (await person.app.call("DELETE", f"/api/auth/factors/{left['id']}", as_whom=person.name)).status_code == 200


async def test_there_are_so_many_factors_and_no_more(person: Person) -> None:
    for _ in range(3):
        await person.add_app()
    assert (await person.post("factors/totp/begin", {}, signed=True)).status_code == 409
    for _ in range(5):
        await person.add_passkey(Authenticator())
    factors, _ = await listed(person)
    assert len(factors) == 8


async def test_apps_that_were_begun_while_there_was_room_are_counted_when_they_are_finished(person: Person) -> None:
    begun = [await person.done("factors/totp/begin", {}) for _ in range(4)]
    answers = []
    for state in begun:
        body = {"state": state["state"], "code": person.code(secret=state["secret"])}
        answers.append(await person.post("factors/totp/finish", body, signed=True))
    assert [answer.status_code for answer in answers] == [201, 201, 201, 409]
    assert len((await listed(person))[0]) == 3


@pytest.mark.promise("second factors, ASVS 5.0: 6.3.7: changes of factors are told by mail")
async def test_each_change_of_a_factor_is_notified_by_mail(person: Person) -> None:
    await person.app.services.relay.deliver()
    sent = person.app.sent
    sent.clear()
    made = await person.add_app()
    await person.verify(await person.ticket(), "recovery", code=person.codes[0])
    await person.app.call("DELETE", f"/api/auth/factors/{made['id']}", as_whom=person.name)
    while await person.app.services.relay.deliver():
        pass
    subjects = [message.subject for message in sent]
    assert subjects == [
        "Tenantry: A second factor was added to your account",
        "Tenantry: A recovery code of yours was used",
        "Tenantry: A second factor was removed from your account",
    ]
    assert {message.to for message in sent} == {person.email}


@pytest.mark.promise("DELETE /api/users/{user_id}/factors")
@pytest.mark.promise("second factors, ASVS 5.0: 6.4.4: a lost factor is replaced only with a proof")
async def test_an_administrator_removes_the_factors_of_who_lost_them(person: Person) -> None:
    await person.add_app()
    user_id = claims_of(person.app.tokens[person.name])["sub"]
    path = f"/api/users/{user_id}/factors"
    german = {"Accept-Language": "de"}
    for whom, status in (("reader", 403), ("other", 404), ("acme", 200)):
        assert (await person.app.call("DELETE", path, as_whom=whom, headers=german)).status_code == status, whom
    async with person.app.adapters.database.transaction(EveryTenant()) as tx:
        due = await tx.outbox.take(10, person.app.clock.now(), timedelta())
    # the language is the administrator's, and the reader's is not known
    assert [mail.mail.language for mail in due if mail.mail.kind == "factor-removed"] == [""]
    dead = await person.app.call("GET", "/api/auth/me", as_whom=person.name)
    assert (dead.status_code, dead.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert (await person.login()).status_code == 200
    assert await listed(person) == ([], 0)
    assert "factor.reset" in await actions(person.app)
    # The second time there is nothing left, and nothing to tell.
    assert (await person.app.call("DELETE", path, as_whom="acme")).status_code == 200
    while await person.app.services.relay.deliver():
        pass
    sent = person.app.sent
    assert [message.subject for message in sent if "was removed" in message.subject] == [
        "Tenantry: A second factor was removed from your account"
    ]


@pytest.mark.promise(
    "second factors, attacks: an administrator of one tenant who removes the factors of a member of two"
)
async def test_an_administrator_of_one_tenant_leaves_those_of_a_member_of_two(person: Person) -> None:
    await person.add_app()
    user_id = claims_of(person.app.tokens[person.name])["sub"]
    other = claims_of(person.app.tokens["other"])["tenant_id"]
    body = {"userId": user_id, "roles": []}
    assert (await person.app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)).status_code == 201
    for whom in ("acme", "other"):
        answer = await person.app.call("DELETE", f"/api/users/{user_id}/factors", as_whom=whom)
        assert answer.status_code == 403
    assert (await person.login()).json()["errorCode"] == "MFA_REQUIRED"
    assert (await person.app.call("DELETE", f"/api/users/{user_id}/factors", as_whom="root")).status_code == 200


@pytest.mark.promise(
    "second factors, attacks: Setting up by an old token, by a Global Token (allowed), by a service account"
)
@pytest.mark.promise("second factors, ASVS 5.0: 7.5.1: a proof is shown anew before factors change")
async def test_an_old_proof_changes_no_factor(person: Person) -> None:
    made = await person.add_app()
    move(person.app, timedelta(minutes=10))
    for method, path, body in (
        ("POST", "factors/totp/begin", {}),
        ("POST", "factors/passkeys/begin", {}),
        ("POST", "factors/recovery-codes", {}),
        ("DELETE", f"factors/{made['id']}", None),
    ):
        answer = await person.app.call(method, f"/api/auth/{path}", as_whom=person.name, json=body)
        assert answer.json()["errorCode"] == "REAUTHENTICATION_REQUIRED", path
    assert len((await listed(person))[0]) == 1
