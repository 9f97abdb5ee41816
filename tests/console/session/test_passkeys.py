"""Passkeys in the console, with the virtual authenticator of Chromium: made, used, asked for anew, removed."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import CDPSession, Route, async_playwright, expect

from adapters.memory.clock import MovableClock
from tests.console.conftest import WIDE, Service, Visitor
from tests.console.looks.test_accessibility import violations
from tests.http.docs.test_docs_page import BROWSER, FLAGS
from tests.http.identity.factors.factors import ask_for_factors
from tests.http.identity.factors.test_passkeys_in_a_browser import INTERNAL

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


class Device:
    """The authenticator of the machine that the browser runs on."""

    def __init__(self, chromium: CDPSession, authenticator: str) -> None:
        self._chromium, self._id = chromium, authenticator

    async def verifies(self, is_verified: bool) -> None:
        values = {"authenticatorId": self._id, "isUserVerified": is_verified}
        await self._chromium.send("WebAuthn.setUserVerified", values)

    async def chooses(self, is_chosen: bool) -> None:
        """Whether somebody is there who chooses a passkey as soon as one is offered."""
        values = {"authenticatorId": self._id, "enabled": is_chosen}
        await self._chromium.send("WebAuthn.setAutomaticPresenceSimulation", values)


@pytest_asyncio.fixture
async def visitor(service: Service, tmp_path: Path) -> AsyncIterator[Visitor]:
    """A browser with a profile: without one Chromium shows no passkey that is kept on the device."""
    if BROWSER is None:
        pytest.skip("no Chromium on this machine: the console is not driven")
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            tmp_path / "profile", executable_path=BROWSER, headless=True, args=FLAGS, locale="en-GB", viewport=WIDE
        )
        visitor = Visitor(service, context, context.pages[0])
        visitor.watch(visitor.page)
        yield visitor
        await context.close()
    assert visitor.complaints == []


@pytest_asyncio.fixture
async def device(visitor: Visitor) -> AsyncIterator[Device]:
    chromium = await visitor.chromium()
    await chromium.send("WebAuthn.enable")
    added = await chromium.send("WebAuthn.addVirtualAuthenticator", {"options": INTERNAL})
    yield Device(chromium, added["authenticatorId"])


async def make_passkey(visitor: Visitor, name: str) -> None:
    page = visitor.page
    await page.get_by_role("button", name="Add a passkey").click()
    await page.get_by_role("dialog").get_by_label("Name").fill(name)
    await page.get_by_role("button", name="Make a passkey").click()
    await expect(page.get_by_role("dialog", name="Recovery codes")).to_be_visible()
    await page.get_by_role("dialog").get_by_role("button", name="Close").click()


async def enter_as_new(visitor: Visitor, email: str) -> None:
    await visitor.service.app.make_user("acme", email, ["Reader"])
    await visitor.enter("account", email)


@pytest.mark.promise("console, journeys: Passkeys and second factors")
async def test_a_passkey_is_created_signs_in_without_a_password_and_is_removed(
    visitor: Visitor, device: Device
) -> None:
    page = visitor.page
    await enter_as_new(visitor, "keyed@acme.example")
    await make_passkey(visitor, "Laptop")
    await expect(page.get_by_text("10 recovery codes are left")).to_be_visible()
    assert await violations(visitor) == []
    await page.get_by_role("button", name="Sign out", exact=True).click()
    visitor.service.let_time_pass()
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()
    await page.get_by_role("button", name="Rename Laptop").click()
    await page.get_by_role("dialog").get_by_label("Name").fill("Old laptop")
    await page.get_by_role("dialog").get_by_role("button", name="Save").click()
    await page.get_by_role("button", name="Remove Old laptop").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("None: your password is enough to sign in.")).to_be_visible()


async def test_a_passkey_is_offered_at_the_field_of_the_e_mail(visitor: Visitor, device: Device) -> None:
    page = visitor.page
    await enter_as_new(visitor, "offered@acme.example")
    await make_passkey(visitor, "Laptop")
    await page.get_by_role("button", name="Sign out", exact=True).click()
    visitor.service.let_time_pass()
    asked = len(visitor.requests)
    await page.get_by_label("E-mail").focus()
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()
    paths = [request.url.removeprefix(visitor.home) for request in visitor.requests[asked:]]
    assert paths[:2] == ["/api/auth/passkeys/begin", "/console/session"]


@pytest.mark.promise(
    "console, journeys: a passkey of the browser's list that is refused is told, and a list that nobody asked for is "
    "not"
)
async def test_a_refused_passkey_from_the_browser_list_is_reported(visitor: Visitor, device: Device) -> None:
    page = visitor.page
    await enter_as_new(visitor, "refused@acme.example")
    await make_passkey(visitor, "Laptop")
    await page.get_by_role("button", name="Sign out", exact=True).click()
    visitor.service.let_time_pass()
    error = {"isSuccess": False, "errorCode": "SERVICE_UNAVAILABLE", "errorMessage": "Later.", "errors": []}
    await page.route("**/console/session", lambda route: route.fulfill(status=503, json=error))
    await page.get_by_label("E-mail").focus()
    await expect(page.get_by_role("alert")).to_contain_text("Later.")
    await page.unroute("**/console/session")
    # the list is offered again at the field
    await page.get_by_label("Password").focus()
    await page.get_by_label("E-mail").focus()
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()


@pytest.mark.promise(
    "console, journeys: a passkey of the browser's list that is refused is told, and a list that nobody asked for is "
    "not"
)
async def test_a_failed_unrequested_list_of_passkeys_is_not_reported(visitor: Visitor, device: Device) -> None:
    page = visitor.page
    await device.chooses(False)
    asked = []

    async def fail(route: Route) -> None:
        asked.append(route.request.url)
        await route.fulfill(status=503, json={})

    await page.route("**/api/auth/passkeys/begin", fail)
    await visitor.open("account")
    async with page.expect_response("**/api/auth/passkeys/begin"):
        await page.get_by_label("E-mail").click()
    await page.get_by_label("Password").focus()
    await expect(page.get_by_role("alert")).to_have_count(0)
    assert len(asked) == 1


@pytest.mark.promise("console, journeys: Passkeys and second factors")
async def test_a_passkey_is_the_second_factor_behind_a_password(visitor: Visitor, device: Device) -> None:
    page = visitor.page
    await enter_as_new(visitor, "second@acme.example")
    await make_passkey(visitor, "Laptop")
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await device.chooses(False)
    await visitor.sign_in("second@acme.example")
    await expect(page.get_by_label("Recovery code")).to_be_visible()
    assert await violations(visitor) == []
    await device.chooses(True)
    await device.verifies(False)
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("alert")).to_contain_text("No passkey was shown")
    await device.verifies(True)
    await page.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("heading", name="My account")).to_be_visible()


async def test_an_old_proof_is_renewed_by_the_passkey_and_the_request_goes_on(visitor: Visitor, device: Device) -> None:
    page, clock = visitor.page, visitor.service.app.adapters.clock
    assert isinstance(clock, MovableClock)
    await enter_as_new(visitor, "stale@acme.example")
    await make_passkey(visitor, "Laptop")
    clock.move(timedelta(minutes=30))
    await page.reload()
    await page.get_by_role("button", name="New recovery codes").click()
    await page.get_by_role("dialog", name="New recovery codes").get_by_role("button", name="New recovery codes").click()
    dialog = page.get_by_role("dialog", name="Confirm your identity")
    await expect(dialog.get_by_label("Code")).to_be_visible()
    await expect(dialog.get_by_label("Password")).to_have_count(0)
    assert await violations(visitor) == []
    await dialog.get_by_role("button", name="Use a passkey").click()
    await expect(page.get_by_role("dialog", name="Recovery codes")).to_be_visible()


async def test_a_required_passkey_is_created_while_signing_in(visitor: Visitor, device: Device) -> None:
    page, app, email = visitor.page, visitor.service.app, "strict@keyed.example"
    visitor.service.let_time_pass()
    await app.login("root", "admin@example.com")
    tenant_id = await app.make_tenant("keyed")
    await app.make_user("keyed", email, ["Admin"])
    await ask_for_factors(app, tenant_id, mfa_methods=("passkey",))
    await visitor.open()
    await visitor.sign_in(email)
    await expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
    await expect(page.get_by_role("button", name="Authenticator app")).to_have_count(0)
    assert await violations(visitor) == []
    await page.get_by_role("button", name="Passkey", exact=True).click()
    await expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    await page.get_by_role("button", name="I have stored them").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Hello")


@pytest.mark.promise(
    "console, journeys: a passkey of the browser's list that is refused is told, and a list that nobody asked for is "
    "not"
)
async def test_a_refused_passkey_is_reported_as_a_refused_passkey(visitor: Visitor, device: Device) -> None:
    page, app = visitor.page, visitor.service.app
    await enter_as_new(visitor, "former@acme.example")
    await make_passkey(visitor, "Laptop")
    await page.get_by_role("button", name="Sign out", exact=True).click()
    await device.chooses(False)
    error = {"isSuccess": False, "errorCode": "INVALID_CREDENTIALS", "errorMessage": "Wrong.", "errors": []}
    await page.route("**/console/session", lambda route: route.fulfill(status=401, json=error))
    visitor.service.let_time_pass()
    await device.chooses(True)
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_role("alert")).to_have_text(re.compile("^This passkey does not belong to an account"))
    await page.unroute("**/console/session")
    # the device keeps a passkey that the account has no more
    await visitor.service.renew_tokens()
    users = (await app.call("GET", "/api/users?search=former", as_whom="acme")).json()["items"]
    removed = await app.call("DELETE", f"/api/users/{users[0]['id']}/factors", as_whom="acme")
    assert removed.status_code == 200, removed.text
    visitor.service.let_time_pass()
    await page.get_by_role("button", name="Sign in with a passkey").click()
    await expect(page.get_by_role("alert")).to_have_text(re.compile("^The passkey "))
