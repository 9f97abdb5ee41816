"""People of several ranks in two tenants, and what they try."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from domain.scope import SYSTEM_TENANT_ID
from tests.http.app import ADMIN, Place, open_place

SYSTEM = str(SYSTEM_TENANT_ID)
CLERK = ["read:users", "create:users", "update:users", "delete:users", "create:roles", "update:roles", "delete:roles"]


@dataclass
class Town:
    """``acme`` with an admin, a clerk who keeps users and roles without holding more, and a plain member;
    ``other`` with an admin; beside them a super-admin."""

    place: Place
    users: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    tenants: dict[str, str] = field(default_factory=dict)

    async def call(self, whom: str, method: str, path: str, body: object = None) -> httpx.Response:
        return await self.place.call(method, path, as_whom=whom, json=body)

    async def make_user(self, name: str, identifier: str, roles: list[str]) -> None:
        self.users[name] = await self.place.make_user(identifier, email_of(name), roles)

    async def make_role(self, name: str, identifier: str, permissions: list[str]) -> None:
        body = {"name": name, "permissions": permissions}
        answer = await self.place.call("POST", "/api/roles", as_whom=f"root in {identifier}", json=body)
        assert answer.status_code == 201, answer.text
        self.roles[name] = answer.json()["data"]["id"]

    async def log_in(self, name: str, identifier: str) -> None:
        await self.place.login(name, email_of(name), self.tenants[identifier])

    async def permissions_of(self, name: str, identifier: str) -> list[str]:
        data = await self.place.login("again", email_of(name), self.tenants[identifier])
        permissions: list[str] = data["permissions"]
        return permissions


def email_of(name: str) -> str:
    return f"{name}@acme.example"


@asynccontextmanager
async def open_town() -> AsyncIterator[Town]:
    town = Town(await open_place(counts_limits=False))
    await town.place.login("root", ADMIN, SYSTEM)
    for identifier in ("acme", "other"):
        town.tenants[identifier] = await town.place.make_tenant(identifier)
    await town.make_role("Clerk", "acme", CLERK)
    await town.make_role("Reader", "acme", ["read:products"])
    await town.make_role("Foreign", "other", [])
    for name, identifier, roles in (
        ("admin", "acme", ["Admin"]),
        ("clerk", "acme", ["Clerk"]),
        ("member", "acme", []),
        ("stranger", "other", ["Admin"]),
    ):
        await town.make_user(name, identifier, roles)
        await town.log_in(name, identifier)
    town.users["root"] = (await town.call("root", "GET", "/api/auth/me")).json()["data"]["id"]
    yield town
    await town.place.client.aclose()
