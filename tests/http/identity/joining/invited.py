"""A tenant that invites people, and people who receive invitations."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast
from uuid import UUID

import httpx

from adapters.memory.clock import MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.memory.mail import MemoryMailer
from application.ports.mail_delivery import Message
from domain.identity.users import email_key
from domain.scope import EveryTenant
from tests.builders import link_in, said_by
from tests.http.app import Json
from tests.http.two_tenants import TwoTenants, email_of, open_two_tenants

ADA = "ada@example.com"
NEW = {"fullName": "Ada Byron", "password": "a first password"}


@dataclass
class Invited:
    tenants: TwoTenants

    @property
    def database(self) -> MemoryDatabase:
        return cast(MemoryDatabase, self.tenants.app.adapters.database)

    @property
    def clock(self) -> MovableClock:
        return cast(MovableClock, self.tenants.app.adapters.clock)

    async def mails(self) -> list[Message]:
        """The mails that are sent now."""
        mailer = cast(MemoryMailer, self.tenants.app.adapters.mailer)
        mailer.sent.clear()
        while await self.tenants.app.services.relay.deliver():
            pass
        return list(mailer.sent)

    async def token(self) -> str:
        """The secret in the link of the only mail that is sent now."""
        (mail,) = await self.mails()
        return said_by(link_in(mail))["token"]

    async def invite(self, email: str = ADA, *roles: str, whom: str = "admin") -> httpx.Response:
        return await self.tenants.call(whom, "POST", "/api/invitations", {"email": email, "roles": [*roles]})

    async def invited(self, email: str = ADA, *roles: str, whom: str = "admin") -> tuple[Json, str]:
        """The invitation, and the secret of its link."""
        answer = await self.invite(email, *roles, whom=whom)
        assert answer.status_code == 201, answer.text
        return answer.json()["data"], await self.token()

    async def auth(self, path: str, body: Json | None = None, whom: str | None = None) -> httpx.Response:
        return await self.tenants.app.call("POST", f"/api/auth/invitations/{path}", as_whom=whom, json=body)

    async def prove(self, email: str) -> None:
        """As if the owner of the account had opened a link that was sent to the address."""
        key = email_key(email)
        assert key is not None
        async with self.database.transaction(EveryTenant()) as tx:
            state = await tx.users.state_by_email(key)
            assert state is not None
            assert await tx.credentials.confirm_email(state.user.id, key, self.clock.now())

    async def person(self, name: str, email: str | None = None) -> None:
        """An account in ``other``, with a token there."""
        self.tenants.users[name] = await self.tenants.app.make_user("other", email or email_of(name), [])
        await self.tenants.app.login(name, email or email_of(name), self.tenants.tenants["other"])

    async def members(self) -> list[str]:
        path = f"/api/tenants/{self.tenants.tenants['acme']}/users?pageSize=100"
        listed = await self.tenants.call("root", "GET", path)
        return sorted(user["email"] for user in listed.json()["data"]["items"])

    async def roles_of(self, email: str) -> list[str]:
        path = f"/api/tenants/{self.tenants.tenants['acme']}/users?pageSize=100"
        listed = (await self.tenants.call("root", "GET", path)).json()["data"]["items"]
        (roles,) = [user["roles"] for user in listed if user["email"] == email]
        return sorted(roles)

    def actions(self) -> list[str]:
        """Actions of the audit trail of ``acme``, in order."""
        rows = self.database.committed().tables["audit_events"].values()
        return [str(row["action"]) for row in rows if row["tenant_id"] == UUID(self.tenants.tenants["acme"])]


def told(answer: httpx.Response) -> tuple[int, str, list[str]]:
    body = answer.json()
    return answer.status_code, body["errorCode"], [error["field"] for error in body["errors"]]


WRONG_LINK = (400, "VALIDATION_ERROR", ["token"])
LOGIN = {"email": ADA, "password": NEW["password"], "isPasswordEncrypted": False}


@asynccontextmanager
async def open_invited(environment: Mapping[str, str] | None = None) -> AsyncIterator[Invited]:
    async with open_two_tenants(environment) as tenants:
        await tenants.make_role("Host", "acme", ["create:invitations", "read:invitations", "read:products"])
        await tenants.make_user("host", "acme", ["Host"])
        await tenants.log_in("host", "acme")
        invited = Invited(tenants)
        await invited.mails()
        yield invited
