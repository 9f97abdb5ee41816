"""Tenants and services that require a second factor: nobody gets past, and nobody is locked out."""

from datetime import timedelta

import httpx
import pytest
import pytest_asyncio

from tests.authenticator import Authenticator
from tests.http.app import ADMIN, Json, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.identity.factors.factors import Person, ask_for_factors, move
from tests.http.identity.factors.steps import claims_of


@pytest_asyncio.fixture
async def person(app: TestApp) -> Person:
    found = Person(app)
    await found.login()
    return found


def tenant_of(person: Person, name: str = "acme") -> str:
    tenant_id: str = claims_of(person.app.tokens[name])["tenant_id"]
    return tenant_id


async def enrolment(person: Person) -> str:
    answer = await person.login()
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "MFA_ENROLMENT_REQUIRED"), answer.text
    ticket: str = answer.json()["mfa"]["ticket"]
    return ticket


async def begin(person: Person, ticket: str, kind: str = "totp") -> Json:
    answer = await person.post("mfa/enrol", {"ticket": ticket, "kind": kind})
    assert answer.status_code == 200, answer.text
    begun: Json = answer.json()["data"]
    person.secret = begun.get("secret", "")
    return begun


async def finish(person: Person, ticket: str, begun: Json, **more: object) -> httpx.Response:
    body = {"ticket": ticket, "state": begun["state"], "code": person.code(), **more}
    answer = await person.post("mfa/enrol/finish", body)
    if answer.status_code == 200:
        person.codes = answer.json()["data"]["recoveryCodes"]
        person.app.tokens[person.name] = answer.json()["data"]["token"]
    return answer


@pytest.mark.promise("POST /api/auth/mfa/enrol")
@pytest.mark.promise("POST /api/auth/mfa/enrol/finish")
async def test_who_has_none_sets_one_up_and_is_in(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person))
    ticket = await enrolment(person)
    begun = await begin(person, ticket)
    assert begun["uri"].startswith("otpauth://totp/Tenantry:reader%40acme.example?secret=" + begun["secret"])
    assert begun["qrSvg"].startswith("<svg")
    answer = await finish(person, ticket, begun)
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert (len(data["recoveryCodes"]), data["currentTenant"]["id"]) == (10, tenant_of(person))
    assert claims_of(data["token"])["amr"] == ["pwd", "otp", "mfa"]
    assert (await person.app.call("GET", "/api/products", as_whom=person.name)).status_code == 200


async def test_a_passkey_can_be_the_first_factor(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person), mfa_methods=("passkey",))
    answer = await person.login()
    assert answer.json()["mfa"]["methods"] == ["passkey"]
    ticket = answer.json()["mfa"]["ticket"]
    begun = (await person.post("mfa/enrol", {"ticket": ticket, "kind": "passkey"})).json()["data"]
    body = {"ticket": ticket, "state": begun["state"], "response": person.key.make(begun["options"])}
    done = await person.post("mfa/enrol/finish", body)
    assert done.status_code == 200, done.text
    assert claims_of(done.json()["data"]["token"])["amr"] == ["pwd", "hwk", "user", "mfa"]
    assert (await person.passkey_login()).status_code == 200


@pytest.mark.promise("second factors, behaviour: mfaMethods lets nothing else count")
async def test_an_authenticator_app_does_not_satisfy_a_passkey_requirement(person: Person) -> None:
    await person.add_app()
    await ask_for_factors(person.app, tenant_of(person), mfa_methods=("passkey",))
    first = await person.ticket()
    answer = await person.verify(first)
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "MFA_ENROLMENT_REQUIRED")
    assert answer.json()["mfa"]["methods"] == ["passkey"]
    by_code = await person.verify(await person.ticket(), "recovery", code=person.codes[0])
    assert by_code.json()["errorCode"] == "MFA_ENROLMENT_REQUIRED"
    ticket = answer.json()["mfa"]["ticket"]
    begun = (await person.post("mfa/enrol", {"ticket": ticket, "kind": "passkey"})).json()["data"]
    body = {"ticket": ticket, "state": begun["state"], "response": person.key.make(begun["options"])}
    done = await person.post("mfa/enrol/finish", body)
    assert done.status_code == 200, done.text
    assert "recoveryCodes" not in done.json()["data"]


async def test_a_login_within_the_grace_period_succeeds_and_has_the_deadline(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person), mfa_grace_days=3)
    answer = await person.login()
    assert answer.status_code == 200
    assert answer.json()["data"]["mfaDeadline"].startswith("20")
    move(person.app, timedelta(days=3))
    await enrolment(person)


@pytest.mark.promise(
    "identity, errors: MFA_REQUIRED, MFA_ENROLMENT_REQUIRED 401 at login, 403 at refresh and switch-tenant"
)
async def test_an_earlier_session_needs_the_required_factor_at_refresh_and_switch(
    person: Person,
) -> None:
    session = (await person.login()).json()["data"]
    await ask_for_factors(person.app, tenant_of(person))
    refused = await person.post("refresh", {"refreshToken": session["refreshToken"]})
    assert (refused.status_code, refused.json()["errorCode"]) == (403, "MFA_ENROLMENT_REQUIRED")
    assert "www-authenticate" not in refused.headers
    body = {"tenantId": tenant_of(person)}
    switched = await person.post("switch-tenant", body, signed=True)
    assert (switched.status_code, switched.json()["errorCode"]) == (403, "MFA_ENROLMENT_REQUIRED")
    ticket = switched.json()["mfa"]["ticket"]
    done = await finish(person, ticket, await begin(person, ticket))
    assert done.status_code == 200, done.text
    data = done.json()["data"]
    assert data["currentTenant"]["id"] == tenant_of(person)
    assert claims_of(data["token"])["sid"] == claims_of(session["token"])["sid"]
    refreshed = await person.post("refresh", {"refreshToken": data["refreshToken"]})
    assert refreshed.status_code == 200
    assert claims_of(refreshed.json()["data"]["token"])["amr"] == ["pwd", "otp", "mfa"]


@pytest.mark.promise("second factors, behaviour: a refresh that is refused leaves its token usable")
async def test_a_refused_refresh_leaves_its_token_usable(person: Person) -> None:
    session = (await person.login()).json()["data"]
    await ask_for_factors(person.app, tenant_of(person))
    move(person.app, timedelta(minutes=5))
    for _ in range(2):
        refused = await person.post("refresh", {"refreshToken": session["refreshToken"]})
        assert refused.status_code == 403
        move(person.app, timedelta(minutes=5))
    await ask_for_factors(person.app, tenant_of(person), require_mfa=False)
    assert (await person.post("refresh", {"refreshToken": session["refreshToken"]})).status_code == 200


async def test_several_tenants_give_a_global_token_and_the_strict_one_asks_when_it_is_entered(person: Person) -> None:
    user_id, other = claims_of(person.app.tokens[person.name])["sub"], tenant_of(person, "other")
    body = {"userId": user_id, "roles": []}
    await person.app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)
    await ask_for_factors(person.app, other)
    answer = await person.login()
    assert answer.json()["data"]["isGlobal"] is True
    free = await person.post("switch-tenant", {"tenantId": tenant_of(person)}, signed=True)
    assert free.status_code == 200
    strict = await person.post("switch-tenant", {"tenantId": other}, signed=True)
    assert (strict.status_code, strict.json()["errorCode"]) == (403, "MFA_ENROLMENT_REQUIRED")
    preferred = await person.login(preferredTenantId=other)
    assert (preferred.status_code, preferred.json()["errorCode"]) == (401, "MFA_ENROLMENT_REQUIRED")


@pytest.mark.promise(
    "second factors, behaviour: a tenant that requires a factor lets nobody past, from the next request on"
)
async def test_a_super_admin_who_visits_the_tenant_needs_the_required_factor(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person))
    await person.app.login("root", ADMIN)
    answer = await person.app.call(
        "POST", "/api/auth/switch-tenant", as_whom="root", json={"tenantId": tenant_of(person)}
    )
    assert (answer.status_code, answer.json()["errorCode"]) == (403, "MFA_ENROLMENT_REQUIRED")


@pytest.mark.promise("second factors, ASVS 5.0: 6.3.3: a second factor can be required")
@pytest.mark.parametrize(("whom", "asked"), [("super-admins", [True, False]), ("all", [True, True])])
async def test_the_service_can_require_one(whom: str, asked: list[bool]) -> None:
    app = await open_test_app()
    await seed(app)
    strict = await open_test_app({"TENANTRY_REQUIRE_MFA_FOR": whom})
    people = [Person(strict, ADMIN, "root")]
    first = await people[0].login()
    assert first.json()["errorCode"] == "MFA_ENROLMENT_REQUIRED"
    ticket = first.json()["mfa"]["ticket"]
    done = await finish(people[0], ticket, await begin(people[0], ticket))
    assert done.status_code == 200, done.text
    await strict.make_tenant("acme")
    await strict.make_user("acme", "reader@acme.example", [])
    reader = await Person(strict).login()
    assert (reader.status_code == 401) is asked[1]


@pytest.mark.promise("second factors, attacks: CVE-2026-37982: a ticket replayed to set up a factor")
async def test_an_enrolment_ticket_serves_no_challenge_and_a_challenge_no_enrolment(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person))
    ticket = await enrolment(person)
    assert (await person.verify(ticket, code="123456")).json()["errors"][0]["field"] == "ticket"
    await finish(person, ticket, await begin(person, ticket))
    move(person.app, timedelta(seconds=60))
    challenge = await person.ticket()
    for path, body in (
        ("mfa/enrol", {"ticket": challenge, "kind": "totp"}),
        ("mfa/enrol/finish", {"ticket": challenge, "state": "x", "code": "123456"}),
    ):
        refused = await person.post(path, body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "ticket")


@pytest.mark.promise("second factors, attacks: CVE-2026-37982: a ticket replayed to set up a factor")
async def test_an_enrolment_ticket_serves_once_and_ends_with_the_first_factor(person: Person) -> None:
    """CVE-2026-37982: a ticket from before must not give the account a second, foreign factor."""
    await ask_for_factors(person.app, tenant_of(person))
    stolen, own = await enrolment(person), await enrolment(person)
    held = await begin(person, stolen)
    kept = person.secret
    assert (await finish(person, own, await begin(person, own))).status_code == 200
    person.secret = kept
    for ticket in (stolen, own):
        assert (await finish(person, ticket, held)).json()["errors"][0]["field"] == "ticket"
        assert (await person.post("mfa/enrol", {"ticket": ticket, "kind": "totp"})).status_code == 400


@pytest.mark.promise("second factors, attacks: Guessing codes, over all networks; a stranger who locks somebody out")
async def test_five_wrong_tries_end_an_enrolment(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person))
    ticket = await enrolment(person)
    begun = await begin(person, ticket)
    answers = [await finish(person, ticket, begun, code="000000") for _ in range(6)]
    assert [answer.status_code for answer in answers] == [400] * 5 + [401]
    assert answers[-1].json()["errorCode"] == "ACCOUNT_LOCKED"


@pytest.mark.promise("second factors, attacks: a state that was begun for another account")
async def test_a_state_of_somebody_else_sets_up_nothing(person: Person) -> None:
    """A secret that another account was shown must not become this one's."""
    other = Person(person.app, "admin@acme.example", "acme")
    foreign = await other.done("factors/totp/begin", {})
    body = {"state": foreign["state"], "code": person.code(secret=foreign["secret"])}
    refused = await person.post("factors/totp/finish", body, signed=True)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "state")
    options = await other.done("factors/passkeys/begin", {})
    made = Authenticator().make(options["options"])
    refused = await person.post("factors/passkeys/finish", {"state": options["state"], "response": made}, signed=True)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "state")


async def test_a_factor_kind_that_the_tenant_excludes_is_refused_before_it_is_stored(person: Person) -> None:
    """Its recovery codes would have been made, and shown to nobody."""
    await ask_for_factors(person.app, tenant_of(person), mfa_methods=("passkey",))
    ticket = await enrolment(person)
    refused = await person.post("mfa/enrol", {"ticket": ticket, "kind": "totp"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "kind")
    begun = (await person.post("mfa/enrol", {"ticket": ticket, "kind": "passkey"})).json()["data"]
    by_code = await person.post("mfa/enrol/finish", {"ticket": ticket, "state": begun["state"], "code": "123456"})
    assert (by_code.status_code, by_code.json()["errors"][0]["field"]) == (400, "code")
    body = {"ticket": ticket, "state": begun["state"], "response": person.key.make(begun["options"])}
    done = await person.post("mfa/enrol/finish", body)
    assert done.status_code == 200, done.text
    assert len(done.json()["data"]["recoveryCodes"]) == 10


async def test_a_method_that_the_tenant_excludes_is_refused_before_the_code_is_used(person: Person) -> None:
    await person.add_app()
    await ask_for_factors(person.app, tenant_of(person), mfa_methods=("totp",))
    ticket = await person.ticket()
    refused = await person.verify(ticket, "recovery", code=person.codes[0])
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "method")
    asked = await person.post("mfa/passkey", {"ticket": ticket})
    assert (asked.status_code, asked.json()["errors"][0]["field"]) == (400, "method")
    assert (await person.verify(ticket)).status_code == 200
    listed = await person.app.call("GET", "/api/auth/factors", as_whom=person.name)
    assert listed.json()["recoveryCodesLeft"] == 10


async def test_an_application_that_refuses_the_login_leaves_no_factor_behind(person: Person) -> None:
    await ask_for_factors(person.app, tenant_of(person))
    application = {"appId": "shop", "name": "Shop", "requiredPermission": "sell:products"}
    made = await person.app.call("POST", "/api/applications", as_whom="root", json=application)
    assert made.status_code == 201, made.text
    answer = await person.login(requestedAppId="shop")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "MFA_ENROLMENT_REQUIRED"), answer.text
    ticket = answer.json()["mfa"]["ticket"]
    refused = await finish(person, ticket, await begin(person, ticket))
    assert (refused.status_code, refused.json()["errorCode"]) == (403, "FORBIDDEN")
    ticket = await enrolment(person)
    assert (await finish(person, ticket, await begin(person, ticket))).status_code == 200
    assert len(person.codes) == 10
