"""People of several ranks in two tenants, and what they try.

Tenants and their people, made once by requests: the tests of a worker take over what those have stored.

Each test has an application of its own, with a copy of the database, the limits, the cache and the mails as they were
after the requests, and the ids go on from there.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

import httpx
from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.memory.store import Store
from domain.scope import SYSTEM_TENANT_ID
from tests.http.app import ADMIN, TestApp, empty_test_app, open_test_app

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


Seed = Callable[[TestApp], Awaitable[None]]


@dataclass(frozen=True)
class Seeded:
    """What an application has stored. Its clock has not moved."""

    store: Store
    used_ids: int
    counted: dict[str, Any]
    cached: dict[str, Any]
    sent: list[Any]
    tokens: dict[str, str]


_SEEDED: dict[tuple[Seed, tuple[type[Struct], ...]], Seeded] = {}
_COUNTED = ("_requests", "_request_count", "_values", "_epoch")
"""State of the limits and of the token versions; numbers for changes that run are not taken over: none runs."""
_CACHED = ("_entries", "_sweep_at")


async def open_seeded(seed: Seed, entities: Sequence[type[Struct]]) -> TestApp:
    key = seed, tuple(entities)
    if key not in _SEEDED:
        app = await open_test_app(entities=entities)
        await seed(app)
        _SEEDED[key] = _state_of(app)
        return app
    app = empty_test_app(entities=entities)
    _take_over(app, _SEEDED[key])
    await app.services.signing_keys.ensure()  # those that are stored
    return app


def _state_of(app: TestApp) -> Seeded:
    ids = cast(CountingIds, app.adapters.ids)
    used = next(ids._numbers) - 1
    ids._numbers = count(used + 1)
    return Seeded(
        store=app.database.committed().copy(),
        used_ids=used,
        counted={name: deepcopy(getattr(app.adapters.admissions, name)) for name in _COUNTED},
        cached={name: deepcopy(getattr(app.adapters.cache, name)) for name in _CACHED},
        sent=[*app.sent],
        tokens=dict(app.tokens),
    )


def _take_over(app: TestApp, state: Seeded) -> None:
    app.database._committed = state.store.copy()
    cast(CountingIds, app.adapters.ids)._numbers = count(state.used_ids + 1)
    for adapter, values in ((app.adapters.admissions, state.counted), (app.adapters.cache, state.cached)):
        for name, value in values.items():
            setattr(adapter, name, deepcopy(value))
    app.sent.extend(state.sent)
    app.tokens.update(state.tokens)
