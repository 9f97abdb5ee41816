"""Passkeys in a real browser, with its virtual authenticator: the page runs the code of docs/second-factors.md."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, CDPSession, Page

from tests.http.app import TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.docs.test_docs_page import BROWSER, HOME, Visit
from tests.http.identity.factors.factors import Person
from tests.http.identity.factors.steps import claims_of

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: passkeys are not driven"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

PAGE = Path(__file__).resolve().parents[4] / "docs" / "second-factors.md"
CODE = "".join(re.findall(r"^```js\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE))
INTERNAL = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


class Device:
    """The page, and the authenticator of the device that it is shown on."""

    def __init__(self, page: Page, app: TestApp, chromium: CDPSession, authenticator: str) -> None:
        self.page, self.person = page, Person(app)
        self._chromium, self._authenticator = chromium, authenticator

    async def run(self, call: str, *values: object) -> Any:
        """The answer of one of the functions that the page of the documents shows."""
        return await self.page.evaluate(f"async (values) => {{ {CODE}\n return await {call}(...values); }}", values)

    async def verifies(self, is_verified: bool) -> None:
        values = {"authenticatorId": self._authenticator, "isUserVerified": is_verified}
        await self._chromium.send("WebAuthn.setUserVerified", values)


@pytest_asyncio.fixture
async def device(chromium: Browser) -> AsyncIterator[Device]:
    app = await open_test_app({"TENANTRY_PASSKEY_RP_ID": "localhost", "TENANTRY_PASSKEY_ORIGINS": HOME})
    await seed(app)
    context = await chromium.new_context()
    page = await context.new_page()
    await context.route("**/*", Visit(page, app).answer)
    await page.goto(f"{HOME}/account/confirm")
    session = await context.new_cdp_session(page)
    await session.send("WebAuthn.enable")
    added = await session.send("WebAuthn.addVirtualAuthenticator", {"options": INTERNAL})
    yield Device(page, app, session, added["authenticatorId"])
    await context.close()
    await app.client.aclose()


@pytest.mark.promise("second factors, behaviour: Passkeys work in a real browser, by the code that the page shows")
async def test_a_browser_makes_a_passkey_and_logs_in_with_nothing_else(device: Device) -> None:
    person = device.person
    await person.login()
    made = await device.run("makePasskey", person.app.tokens[person.name], "Laptop")
    assert (made["kind"], made["name"], len(made["recoveryCodes"])) == ("passkey", "Laptop", 10)
    for _ in range(2):
        login = await device.run("logIn")
        claims = claims_of(login["token"])
        assert (claims["email"], claims["amr"][1:]) == (person.email, ["user", "mfa"])
    assert (await person.login()).json()["mfa"]["methods"] == ["passkey", "recovery"]


@pytest.mark.promise("second factors, behaviour: Passkeys work in a real browser, by the code that the page shows")
async def test_a_browser_registers_a_passkey_once_and_an_unverified_user_is_refused(
    device: Device,
) -> None:
    person = device.person
    await person.login()
    token = person.app.tokens[person.name]
    await device.run("makePasskey", token, "Laptop")
    with pytest.raises(Exception, match="InvalidStateError"):
        await device.run("makePasskey", token, "Laptop again")
    await device.verifies(False)
    with pytest.raises(Exception, match="NotAllowedError"):
        await device.run("logIn")
