"""docs/invitations.md: its commands run one after the other, as they stand there.

docs/second-factors.md: every request that it names is sent, with the fields that it names.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx

from adapters.http.identity.joining.domains import VERIFY_DOMAIN
from adapters.http.identity.joining.invitations import INVITE
from adapters.http.identity.joining.received import INVITATION_LINK
from adapters.memory.dns import MemoryDnsRecords
from application.identity.joining.domain_joining import KNOWN_FOR
from domain.identity.domains import DOMAINS
from domain.identity.invitations import BATCH, INVITATIONS_A_DAY, MAILS_A_DAY
from tests.builders import link_in, said_by
from tests.http.app import PASSWORD, Json, TestApp
from tests.http.docs.curl_examples import DOCS, commands, request_of
from tests.http.identity.factors.factors import EMAIL, Person, ask_for_factors
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.joining.invited import Invited, open_invited
from tests.http.two_tenants import email_of

PAGE = "invitations.md"


async def test_the_commands_work_in_their_order() -> None:
    async with open_invited({"TENANTRY_SELF_SERVICE_TENANTS": "on"}) as invited:
        app = invited.tenants.app
        for name in ("bob", "cleo"):
            await invited.person(name, f"{name}@example.com")
        await invited.prove("cleo@example.com")
        pending = (await invited.invite("dora@example.com")).json()["data"]["id"]
        await invited.mails()
        variables = {
            "URL": "",
            "ADMIN": app.tokens["admin"],
            "BOB": app.tokens["bob"],
            "CLEO": app.tokens["cleo"],
            "TENANT": invited.tenants.tenants["acme"],
            "PENDING": pending,
            "ROOT": app.tokens["root"],
            "MEMBER": invited.tenants.users["clerk"],
        }
        # The administrator owns the tenant, and another one is there.
        await make_more_admins(invited)
        owner = f"/api/tenants/{variables['TENANT']}/users/{invited.tenants.users['admin']}"
        assert (await invited.tenants.call("root", "PUT", owner, {"isOwner": True})).status_code == 200
        await invited.mails()
        answered = []
        for command in commands(PAGE):
            sent = request_of(command, variables)
            answer = await app.call(sent.method, sent.path, headers=sent.headers, json=sent.body)
            assert answer.is_success, f"{command}: {answer.text}"
            answered.append(answer.json())
            if "/domains" in sent.path and sent.body:
                await publish(invited, answer.json()["data"]["record"])
            if sent.path.endswith("/verify"):
                variables["ASKING"] = await ask_to_join(invited, "eve@acme.example")
            for mail in await invited.mails():
                if "#token" not in mail.text:
                    continue
                variables[{"ada": "TOKEN", "bob": "BOBS_TOKEN"}.get(mail.to[:3], "_")] = said_by(link_in(mail))["token"]
            if sent.path == "/api/auth/invitations":
                variables["INVITATION"] = answer.json()["data"][0]["id"]
        assert len(answered) == 23
        assert {"ada@example.com", "cleo@example.com"} <= set(await invited.members())
        assert "eve@acme.example" in await invited.members()
        assert "bob@example.com" not in await invited.members()
        assert email_of("admin") not in await invited.members()


async def make_more_admins(invited: Invited) -> None:
    """A new owner needs the role Admin before the transfer."""
    await invited.tenants.make_user("second", "acme", ["Admin"])
    path = f"/api/users/{invited.tenants.users['clerk']}/roles"
    assert (await invited.tenants.call("root in acme", "POST", path, {"roleNames": ["Admin"]})).status_code == 200


async def publish(invited: Invited, record: Json) -> None:
    dns = invited.tenants.app.adapters.dns
    assert isinstance(dns, MemoryDnsRecords)
    dns.records[record["name"]] = [record["value"]]


async def ask_to_join(invited: Invited, email: str) -> str:
    """Logs somebody in with a proved address; returns their id."""
    await invited.person("eve", email)
    await invited.prove(email)
    invited.clock.move(KNOWN_FOR)
    await invited.tenants.app.login("eve", email)
    return invited.tenants.users["eve"]


def test_the_page_names_the_limits_that_hold() -> None:
    text = Path(DOCS / PAGE).read_text()
    for count, unit in ((INVITE.count, "a minute"), (INVITATIONS_A_DAY, "a day"), (MAILS_A_DAY, "a day")):
        assert re.search(rf"\| {count} {unit}", text)
    assert f"| {INVITATION_LINK.count} a minute for each client address |" in text
    assert f"| {DOMAINS} |" in text
    assert f"| {VERIFY_DOMAIN.count} a minute for each user |" in text
    assert BATCH == 100


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
