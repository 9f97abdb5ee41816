"""docs/passkeys.md: its functions for the browser, with the requests that they send and the fields that they read."""

import re

from tests.http.app import Json, TestApp
from tests.http.docs.curl_examples import DOCS
from tests.http.identity.factors import Person

TEXT = (DOCS / "passkeys.md").read_text("utf-8")
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
