"""docs/api-keys.md: its commands run one after the other, as they stand there, and its expression finds keys.

docs/second-factors.md: its functions for the browser, with the requests that they send and the fields that they read.

docs/self-service.md: its commands run one after the other, as they stand there.

docs/sign-in-pages.md: its commands run one after the other, as they stand there.
"""

import re
import runpy
from pathlib import Path
from uuid import UUID

import pytest

from adapters.http.identity.self_service.own_account import CHANGE_EMAIL, PERSONAL_EXPORT
from adapters.http.request.rules import PUBLIC
from application.identity.hosted_login.login_codes import LIVES
from application.identity.self_service.email_changes import CHANGES_A_DAY
from application.ports.identity.personal_data import EVENTS
from domain.identity.redirects import MOST_ADDRESSES
from domain.identity.service_accounts import (
    ACCOUNTS_PER_TENANT,
    KEYS_PER_ACCOUNT,
    NETWORKS_PER_KEY,
    PERMISSIONS_PER_KEY,
    TOKENS,
    UNKNOWN_KEYS,
    compose_key,
)
from domain.scope import EveryTenant
from tests.builders import link_in, said_by
from tests.documentation.documents import chapter, copied
from tests.http.app import Json, TestApp
from tests.http.docs.curl_examples import DOCS, commands, request_of
from tests.http.identity.factors.factors import Person
from tests.http.identity.hosted_login.handing_over import CHALLENGE, VERIFIER, Shop
from tests.http.identity.joining.invited import open_invited
from tests.http.served import served_by
from tests.http.two_tenants import TwoTenants

PAGE = "api-keys.md"


async def test_the_commands_work_in_their_order(tenants: TwoTenants) -> None:
    app = tenants.app
    names = ("ACCOUNT", "KEY", "KEY_ID", "NEW_KEY_ID", "SECRET")
    variables = {"URL": "", "ADMIN": app.tokens["admin"], **dict.fromkeys(names, "unknown")}
    answered = 0
    ordered = sorted(commands(PAGE), key=lambda command: "-X " in command)  # what ends the key and its account is last
    for command in ordered:
        sent = request_of(command, variables)
        answer = await app.client.request(
            sent.method, sent.path, headers=sent.headers, json=sent.body, data=sent.form, auth=sent.auth
        )
        assert answer.is_success, f"{command}: {answer.text}"
        answered += 1
        data = answer.json().get("data") if sent.method == "POST" else None
        if data and sent.path == "/api/service-accounts":
            variables["ACCOUNT"] = data["id"]
        elif data and sent.path.endswith("/rotate"):
            variables |= {"NEW_KEY_ID": data["id"], "SECRET": data["key"]}
        elif data and variables["KEY"] == "unknown":
            variables |= {"KEY": data["key"], "KEY_ID": data["id"]}
    assert answered == 13
    refused = await app.client.get("/api/products", headers={"Authorization": f"Bearer {variables['KEY']}"})
    assert refused.status_code == 401


def test_the_expression_finds_keys_and_the_checksum_confirms_them(tmp_path: Path) -> None:
    (expression,) = re.findall(r"```regex\n(.*?)\n```", (DOCS / PAGE).read_text())
    key = compose_key("tnt", "7Q" * 16)
    found = re.findall(expression, f'curl -H "Authorization: Bearer {key}" # {key[:-1]}')
    assert found == [key]
    is_key = runpy.run_path(copied(PAGE, "scanned.py", tmp_path))["is_key"]
    assert is_key(key)
    assert not is_key(key[:-1] + ("0" if key[-1] != "0" else "1"))


def test_the_page_names_the_limits_that_hold() -> None:
    text = (DOCS / PAGE).read_text()
    for row in (
        f"| Service accounts of a tenant | {ACCOUNTS_PER_TENANT};",
        f"| Living keys of an account | {KEYS_PER_ACCOUNT},",
        f"| Permissions, networks of a key | {PERMISSIONS_PER_KEY} each",
        f"| Tokens of client credentials | {TOKENS.count} a minute",
        f"| Unknown keys | {UNKNOWN_KEYS.count} a minute",
    ):
        assert row in text
    assert NETWORKS_PER_KEY == PERMISSIONS_PER_KEY


TEXT = chapter("second-factors.md", "Passkeys")
_ASKED = re.compile(r'ask\("([\w/-]+)", \{([^}]*)\}(, token)?\)')
_READ = re.compile(r"const \{ ([\w, ]+) \} = await ask")


class Script:
    """The calls of one function of the page, one after the other."""

    def __init__(self, app: TestApp, name: str) -> None:
        (body,) = re.findall(rf"^async function {name}\(.*?\) \{{\n(.*?)^\}}", TEXT, re.DOTALL | re.MULTILINE)
        self.app, self.read = app, _READ.findall(body)
        self.calls = _ASKED.findall(body)
        assert len(self.calls) == 2

    async def begin(self, whom: str | None) -> Json:
        data = await self._send(self.calls[0], {}, whom)
        assert set(self.read[0].split(", ")) <= data.keys()
        return data

    async def finish(self, values: Json, whom: str | None) -> Json:
        return await self._send(self.calls[1], values, whom)

    async def _send(self, call: tuple[str, str, str], values: Json, whom: str | None) -> Json:
        path, fields, token = call
        names = {field.partition(":")[0].strip() for field in fields.split(",") if field.strip()}
        body = {name: values[name] for name in names}
        answer = await self.app.call("POST", f"/api/auth/{path}", as_whom=whom if token else None, json=body)
        assert answer.is_success, f"{path}: {answer.text}"
        data: Json = answer.json()["data"]
        return data


async def test_a_passkey_is_made_and_logs_in_as_the_page_shows(app: TestApp) -> None:
    person = Person(app)
    await person.login()
    making = Script(app, "makePasskey")
    begun = await making.begin(person.name)
    made = {"state": begun["state"], "response": person.key.make(begun["options"]), "name": "Laptop"}
    await making.finish(made, person.name)
    entering = Script(app, "logIn")
    begun = await entering.begin(None)
    shown = {"state": begun["state"], "response": person.key.show(begun["options"])}
    assert (await entering.finish(shown, None))["token"]


async def test_the_last_sentences_name_what_is_taken(app: TestApp) -> None:
    assert "`finish` takes `preferredTenantId`" in TEXT
    person = Person(app)
    await person.login()
    await person.add_passkey()
    refused = await person.passkey_login(preferredTenantId="none")
    assert refused.status_code == 400
    assert [error["field"] for error in refused.json()["errors"]] == ["preferredTenantId"]
    assert (await person.show_passkey(await person.ticket())).status_code == 200


def test_the_page_has_no_request_that_is_not_sent_here() -> None:
    assert len(_ASKED.findall(TEXT)) == 4
    assert set(re.findall(r"`POST (/api/[\w/]+)", TEXT)) == {"/api/auth/mfa/passkey"}


PAGE_OF_SELF_SERVICE_PAGE = "self-service.md"


async def test_the_commands_work_in_their_order_of_self_service_page() -> None:
    async with open_invited() as invited:
        app = invited.tenants.app
        await invited.person("bob", "bob@example.com")
        variables = {"URL": "", "TOKEN": ""}
        answered = []
        for command in commands(PAGE_OF_SELF_SERVICE_PAGE):
            if "/api/auth/identities" in command and "-X" not in command:
                async with invited.database.transaction(EveryTenant()) as tx:
                    await tx.social.link("google", "1", UUID(invited.tenants.users["bob"]), invited.clock.now())
            sent = request_of(command, variables | {"BOB": app.tokens["bob"]})
            answer = await app.call(sent.method, sent.path, headers=sent.headers, json=sent.body)
            assert answer.is_success, f"{command}: {answer.text}"
            answered.append(answer.json())
            for mail in await invited.mails():
                if mail.to == "bob@new.example" and "#" in mail.text:
                    variables["TOKEN"] = said_by(link_in(mail))["token"]
            if "confirm-email" in command:
                await app.login("bob", "bob@new.example")
        assert len(answered) == 6


def test_the_page_names_the_limits_that_hold_of_self_service_page() -> None:
    text = (DOCS / PAGE_OF_SELF_SERVICE_PAGE).read_text()
    assert f"{EVENTS:,}" in text
    assert (CHANGE_EMAIL.count, CHANGES_A_DAY, PERSONAL_EXPORT.count) == (3, 5, 3)
    assert "Three requests a minute, five mails a day." in text


PAGE_OF_SIGN_IN_PAGES_PAGE = "sign-in-pages.md"


@pytest.mark.promise("sign-in pages, behaviour: the commands of the page work")
async def test_the_commands_work_in_their_order_of_sign_in_pages_page(app: TestApp) -> None:
    variables = {"URL": "", "ADMIN": app.tokens["root"], "CHALLENGE": CHALLENGE, "VERIFIER": VERIFIER, "CODE": "none"}
    register, exchange, make = (command for command in commands(PAGE_OF_SIGN_IN_PAGES_PAGE))
    answered = []
    for command in (register, make, exchange):
        if command is make:
            variables["TOKEN"] = (await Shop(app).login())["token"]
        sent = request_of(command, variables)
        answer = await app.client.request(sent.method, sent.path, headers=sent.headers, json=sent.body)
        assert answer.is_success, f"{command}: {answer.text}"
        answered.append(answer.json()["data"])
        variables["CODE"] = answered[-1].get("code", "")
    assert answered[-1]["tokenType"] == "Tenant"


def test_the_page_names_the_limits_that_hold_of_sign_in_pages_page(app: TestApp) -> None:
    text = (DOCS / PAGE_OF_SIGN_IN_PAGES_PAGE).read_text()
    assert f"| Lifetime | {LIVES.seconds} seconds |" in text
    assert f"application has {MOST_ADDRESSES} at most" in text
    policies = {served.operation: served.policy for served in served_by(app.services)}
    assert policies["auth.exchange-code"] == PUBLIC
    assert policies["auth.make-code"].recent
