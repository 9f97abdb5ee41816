"""docs/second-factors.md: every request that it names is sent, with the fields that it names."""

import json
import re
from collections.abc import Iterator

import httpx

from tests.http.app import PASSWORD, Json, TestApp
from tests.http.docs.curl_examples import DOCS
from tests.http.identity.factors import EMAIL, Person, ask_for_factors
from tests.http.identity.steps import claims_of

TEXT = (DOCS / "second-factors.md").read_text("utf-8")
_NAMED = re.compile(r"`((?:POST|PUT|DELETE|GET)(?:, [A-Z]+)*) (/api/[\w/{}-]+)")
_FIELDS = re.compile(r"`[^`]*`")


def named() -> Iterator[str]:
    """``POST /api/auth/mfa/verify`` for each request of the page; `` `POST /a/begin`, `/finish` `` are two."""
    for methods, path in _NAMED.findall(TEXT):
        yield from (f"{method} {path}" for method in methods.split(", "))
    assert "`POST /api/auth/factors/passkeys/begin`, `/finish`" in TEXT
    assert "`PUT`, `DELETE /api/auth/factors/{id}`" in TEXT
    yield from ("POST /api/auth/factors/passkeys/finish", "PUT /api/auth/factors/{id}")


class Page:
    """Sends what the page shows: a field that the page does not name fails, and so does a request."""

    def __init__(self, app: TestApp) -> None:
        self.app, self.sent = app, set[str]()
        self.words = set(re.findall(r"\w+", " ".join(_FIELDS.findall(TEXT))))

    async def send(
        self, shown: str, body: Json | None = None, status: int = 200, *, as_whom: str | None = None, **given: str
    ) -> Json:
        assert set(body or {}) <= self.words, f"{shown}: the page names no field {set(body or {}) - self.words}"
        method, _, path = shown.partition(" ")
        answer: httpx.Response = await self.app.call(method, path.format(**given), as_whom=as_whom, json=body)
        assert answer.status_code == status, f"{shown}: {answer.text}"
        self.sent.add(shown)
        data: Json = answer.json()
        return data


async def test_every_request_of_the_page_works(app: TestApp) -> None:
    page, person = Page(app), Person(app)
    await person.login()
    await _set_up(page, person)
    await _show(page, person)
    await _prove_again(page, person)
    await _remove(page, person)
    await _require(page, person)
    assert page.sent == set(named())


async def _set_up(page: Page, person: Person) -> None:
    whom = person.name
    begun = (await page.send("POST /api/auth/factors/totp/begin", {}, as_whom=whom))["data"]
    assert {"state", "uri", "qrSvg"} <= begun.keys()
    person.secret = begun["secret"]
    body = {"state": begun["state"], "code": person.code(), "name": "Phone"}
    person._kept((await page.send("POST /api/auth/factors/totp/finish", body, 201, as_whom=whom))["data"])
    assert len(person.codes) == 10
    begun = (await page.send("POST /api/auth/factors/passkeys/begin", {}, as_whom=whom))["data"]
    body = {"state": begun["state"], "response": person.key.make(begun["options"])}
    made = (await page.send("POST /api/auth/factors/passkeys/finish", body, 201, as_whom=whom))["data"]
    assert made
    listed = await page.send("GET /api/auth/factors", as_whom=whom)
    assert listed["recoveryCodesLeft"] == 10
    person.before = {factor["kind"]: factor["id"] for factor in listed["data"]}
    await page.send("PUT /api/auth/factors/{id}", {"name": "Key"}, id=person.before["passkey"], as_whom=whom)
    codes = (await page.send("POST /api/auth/factors/recovery-codes", {}, 201, as_whom=whom))["data"]
    person.codes = codes["recoveryCodes"]


async def _show(page: Page, person: Person) -> None:
    (shown,) = re.findall(r"^401 (\{.*?\})\n```", TEXT, re.DOTALL | re.MULTILINE)
    refused = (await person.login()).json()
    assert refused.keys() - {"timestamp"} == json.loads(shown).keys()
    assert refused["mfa"].keys() == json.loads(shown)["mfa"].keys()
    assert sorted(refused["mfa"]["methods"]) == sorted(json.loads(shown)["mfa"]["methods"])
    verify = "POST /api/auth/mfa/verify"
    await page.send(verify, {"ticket": refused["mfa"]["ticket"], "method": "totp", "code": person.code()})
    recovered = {"ticket": await person.ticket(), "method": "recovery", "code": person.codes[0]}
    assert (await page.send(verify, recovered))["data"]["mustAddFactor"] is True
    ticket = await person.ticket()
    begun = (await page.send("POST /api/auth/mfa/passkey", {"ticket": ticket}))["data"]
    response = person.key.show(begun["options"])
    body = {"ticket": ticket, "method": "passkey", "state": begun["state"], "response": response}
    proved = (await page.send(verify, body))["data"]
    assert {"pwd", "mfa"} <= set(claims_of(proved["token"])["amr"])
    person.app.tokens[person.name] = proved["token"]


async def _prove_again(page: Page, person: Person) -> None:
    whom = person.name
    begun = (await page.send("POST /api/auth/reauthenticate/passkey", {}, as_whom=whom))["data"]
    body = {"state": begun["state"], "response": person.key.show(begun["options"])}
    proved = await page.send("POST /api/auth/reauthenticate", body, as_whom=whom)
    person.app.tokens[person.name] = proved["data"]["token"]


async def _remove(page: Page, person: Person) -> None:
    await page.send("DELETE /api/auth/factors/{id}", id=person.before["passkey"], as_whom=person.name)
    user = claims_of(person.app.tokens[person.name])["sub"]
    await person.app.login("root", "admin@example.com")
    await page.send("POST /api/users/{id}/unlock", id=user, as_whom="root")
    await page.send("DELETE /api/users/{id}/factors", id=user, as_whom="root")
    again = await person.post("login", {"email": EMAIL, "password": PASSWORD, "isPasswordEncrypted": False})
    assert again.status_code == 200


async def _require(page: Page, person: Person) -> None:
    tenant: str = claims_of(person.app.tokens["acme"])["tenant_id"]
    await page.send("PUT /api/tenants/current/settings", {"security": {"requireMfa": False}}, as_whom="acme")
    await ask_for_factors(person.app, tenant)
    refused = (await person.login()).json()
    assert refused["errorCode"] == "MFA_ENROLMENT_REQUIRED"
    ticket = refused["mfa"]["ticket"]
    begun = (await page.send("POST /api/auth/mfa/enrol", {"ticket": ticket, "kind": "totp"}))["data"]
    person.secret = begun["secret"]
    body = {"ticket": ticket, "state": begun["state"], "code": person.code()}
    done = (await page.send("POST /api/auth/mfa/enrol/finish", body))["data"]
    assert len(done["recoveryCodes"]) == 10
