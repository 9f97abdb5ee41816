"""Steps that tests of second factors take."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
import pyotp
from msgspec.structs import replace

from adapters.memory.clock import MovableClock
from domain.identity.users import TenantSecurity
from domain.scope import EveryTenant
from tests.authenticator import Authenticator
from tests.http.app import PASSWORD, Json, TestApp

EMAIL = "reader@acme.example"


@dataclass
class Person:
    """Somebody who logs in to ``app`` with the password, and has an app or a passkey in hand.

    ``before`` holds what they were given before they had either.
    """

    app: TestApp
    email: str = EMAIL
    name: str = "reader"
    secret: str = ""
    codes: list[str] = field(default_factory=list)
    key: Authenticator = field(default_factory=Authenticator)
    before: dict[str, str] = field(default_factory=dict)

    async def post(self, path: str, body: object, *, signed: bool = False) -> httpx.Response:
        whom = self.name if signed else None
        return await self.app.call("POST", f"/api/auth/{path}", as_whom=whom, json=body)

    async def login(self, **more: object) -> httpx.Response:
        body = {"email": self.email, "password": PASSWORD, "isPasswordEncrypted": False, **more}
        answer = await self.post("login", body)
        if answer.status_code == 200:
            self.app.tokens[self.name] = answer.json()["data"]["token"]
        return answer

    async def ticket(self, **more: object) -> str:
        """The ticket of a login that waits for a second factor."""
        answer = await self.login(**more)
        assert (answer.status_code, answer.json()["errorCode"]) == (401, "MFA_REQUIRED"), answer.text
        ticket: str = answer.json()["mfa"]["ticket"]
        return ticket

    def code(self, *, secret: str = "", off: int = 0) -> str:
        """The code of now, or of some steps later, by another hand's implementation."""
        at = self.app.adapters.clock.now() + timedelta(seconds=30 * off)
        return pyotp.TOTP(secret or self.secret).at(int(at.timestamp()))

    async def add_app(self) -> Json:
        """Sets up an authenticator app, by a token that is recent."""
        begun = await self.done("factors/totp/begin", {})
        self.secret = begun["secret"]
        body = {"state": begun["state"], "code": self.code(), "name": "Phone"}
        return self._kept(await self.done("factors/totp/finish", body, 201))

    async def add_passkey(self, key: Authenticator | None = None) -> Json:
        key = key or self.key
        begun = await self.done("factors/passkeys/begin", {})
        body = {"state": begun["state"], "response": key.make(begun["options"])}
        return self._kept(await self.done("factors/passkeys/finish", body, 201))

    def _kept(self, data: Json) -> Json:
        self.codes = data.get("recoveryCodes", self.codes)
        move(self.app, timedelta(seconds=60))  # the code that confirmed the app is used
        return data

    async def done(self, path: str, body: object, status: int = 200) -> Json:
        answer = await self.post(path, body, signed=True)
        assert answer.status_code == status, answer.text
        data: Json = answer.json()["data"]
        return data

    async def verify(self, ticket: str, method: str = "totp", **more: object) -> httpx.Response:
        if method == "totp" and "code" not in more:
            more["code"] = self.code()
        answer = await self.post("mfa/verify", {"ticket": ticket, "method": method, **more})
        if answer.status_code == 200:
            self.app.tokens[self.name] = answer.json()["data"]["token"]
        return answer

    async def show_passkey(self, ticket: str, key: Authenticator | None = None, **client: object) -> httpx.Response:
        asked = await self.post("mfa/passkey", {"ticket": ticket})
        assert asked.status_code == 200, asked.text
        begun = asked.json()["data"]
        response = (key or self.key).show(begun["options"], **client)
        return await self.verify(ticket, "passkey", state=begun["state"], response=response)

    async def passkey_login(self, key: Authenticator | None = None, **more: object) -> httpx.Response:
        begun = (await self.post("passkeys/begin", {})).json()["data"]
        response = (key or self.key).show(begun["options"])
        answer = await self.post("passkeys/finish", {"state": begun["state"], "response": response, **more})
        if answer.status_code == 200:
            self.app.tokens[self.name] = answer.json()["data"]["token"]
        return answer


def move(app: TestApp, by: timedelta) -> None:
    clock = app.adapters.clock
    assert isinstance(clock, MovableClock)
    clock.move(by)


async def ask_for_factors(app: TestApp, tenant_id: str, **security: Any) -> None:
    """Lets the tenant require a second factor, as its settings do."""
    from uuid import UUID

    async with app.adapters.database.transaction(EveryTenant()) as tx:
        tenant = await tx.tenants.by_id(UUID(tenant_id))
        assert tenant is not None
        values: dict[str, Any] = {"require_mfa": True, "required_since": app.adapters.clock.now()}
        asked = TenantSecurity(**{**values, **security})
        await tx.tenants.save(replace(tenant, settings=replace(tenant.settings, security=asked)))


async def actions(app: TestApp) -> list[str]:
    """Actions in the audit trail, the latest first."""
    await app.login("root", "admin@example.com")
    answer = await app.call("GET", "/api/audit-events?pageSize=100", as_whom="root", headers={"X-Tenant-Scope": "all"})
    return [event["action"] for event in answer.json()["data"]["items"]]
