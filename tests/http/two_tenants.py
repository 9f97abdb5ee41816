"""People of several ranks in two tenants, and what they try."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from domain.scope import SYSTEM_TENANT_ID
from tests.http.app import ADMIN, TestApp, open_test_app

SYSTEM = str(SYSTEM_TENANT_ID)
CLERK = ["read:users", "create:users", "update:users", "delete:users", "create:roles", "update:roles", "delete:roles"]


@dataclass
class TwoTenants:
    """``acme`` with an admin, a clerk who keeps users and roles without holding more, and a plain member;
    ``other`` with an admin; beside them a super-admin."""

    app: TestApp
    users: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    tenants: dict[str, str] = field(default_factory=dict)

    async def call(self, whom: str, method: str, path: str, body: object = None) -> httpx.Response:
        return await self.app.call(method, path, as_whom=whom, json=body)

    async def make_user(self, name: str, identifier: str, roles: list[str]) -> None:
        self.users[name] = await self.app.make_user(identifier, email_of(name), roles)

    async def make_role(self, name: str, identifier: str, permissions: list[str]) -> None:
        body = {"name": name, "permissions": permissions}
        answer = await self.app.call("POST", "/api/roles", as_whom=f"root in {identifier}", json=body)
        assert answer.status_code == 201, answer.text
        self.roles[name] = answer.json()["data"]["id"]

    async def log_in(self, name: str, identifier: str) -> None:
        await self.app.login(name, email_of(name), self.tenants[identifier])

    async def permissions_of(self, name: str, identifier: str) -> list[str]:
        data = await self.app.login("again", email_of(name), self.tenants[identifier])
        permissions: list[str] = data["permissions"]
        return permissions


def email_of(name: str) -> str:
    return f"{name}@acme.example"


@asynccontextmanager
async def open_two_tenants(environment: Mapping[str, str] | None = None) -> AsyncIterator[TwoTenants]:
    tenants = TwoTenants(await open_test_app(environment, counts_limits=False))
    await tenants.app.login("root", ADMIN, SYSTEM)
    for identifier in ("acme", "other"):
        tenants.tenants[identifier] = await tenants.app.make_tenant(identifier)
    await tenants.make_role("Clerk", "acme", CLERK)
    await tenants.make_role("Reader", "acme", ["read:products"])
    await tenants.make_role("Foreign", "other", [])
    for name, identifier, roles in (
        ("admin", "acme", ["Admin"]),
        ("clerk", "acme", ["Clerk"]),
        ("member", "acme", []),
        ("stranger", "other", ["Admin"]),
    ):
        await tenants.make_user(name, identifier, roles)
        await tenants.log_in(name, identifier)
    tenants.users["root"] = (await tenants.call("root", "GET", "/api/auth/me")).json()["data"]["id"]
    yield tenants
    await tenants.app.client.aclose()
