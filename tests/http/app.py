"""The whole application in this process, on the memory adapters: what a client sees, without a socket.

An application of somebody else that has the plugin, with handlers of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx
from litestar import Litestar, get
from litestar.config.cors import CORSConfig
from litestar.exceptions import NotFoundException
from litestar.types import ASGIApp
from msgspec import Struct

from adapters.http.app import HttpSettings, build_pipeline
from adapters.http.operations.access_log import log_nothing
from adapters.http.plugin import HttpPlugin
from adapters.memory.clock import MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.memory.mail import MemoryMailer
from application.ports.mail_delivery import Message
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.registry import build_registry
from entrypoints.assembly.adapters import Adapters, memory_adapters
from entrypoints.assembly.use_cases import Services, assemble
from entrypoints.settings.settings import Settings, read_settings
from entrypoints.testing import app as testing
from entrypoints.testing.app import prepare_memory
from tests.http.built_once import asgi_of, called_for, on_stand_ins
from tests.http.described import described

ADMIN = testing.ADMIN_EMAIL
PASSWORD = testing.ADMIN_PASSWORD
SETTINGS = {"TENANTRY_SECRET_KEY": testing.SECRET_KEY}

Json = dict[str, Any]


@dataclass
class TestApp:
    """One running application, and ways to act in it that tests share."""

    __test__ = False  # pytest would collect it for its name

    client: httpx.AsyncClient
    services: Services
    adapters: Adapters
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def clock(self) -> MovableClock:
        assert isinstance(self.adapters.clock, MovableClock)
        return self.adapters.clock

    @property
    def database(self) -> MemoryDatabase:
        assert isinstance(self.adapters.database, MemoryDatabase)
        return self.adapters.database

    @property
    def sent(self) -> list[Message]:
        """The mails that have been sent."""
        assert isinstance(self.adapters.mailer, MemoryMailer)
        return self.adapters.mailer.sent

    async def call(
        self, method: str, path: str, *, as_whom: str | None = None, json: object = None, **more: Any
    ) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if as_whom is not None:
            headers["Authorization"] = f"Bearer {self.tokens[as_whom]}"
        if json is not None:
            more["json"] = json
        return await self.client.request(method, path, headers=headers, **more)

    async def login(self, name: str, email: str, tenant_id: str | None = None) -> Json:
        body: Json = {"email": email, "password": PASSWORD, "isPasswordEncrypted": False}
        if tenant_id is not None:
            body["preferredTenantId"] = tenant_id
        answer = await self.call("POST", "/api/auth/login", json=body)
        assert answer.status_code == 200, answer.text
        data: Json = answer.json()["data"]
        self.tokens[name] = data["token"]
        return data

    async def make_tenant(self, identifier: str) -> str:
        body = {"name": identifier.title(), "identifier": identifier}
        answer = await self.call("POST", "/api/tenants", as_whom="root", json=body)
        assert answer.status_code == 201, answer.text
        tenant_id: str = answer.json()["data"]["id"]
        root = await self.call("POST", "/api/auth/switch-tenant", as_whom="root", json={"tenantId": tenant_id})
        assert root.status_code == 200, root.text
        self.tokens[f"root in {identifier}"] = root.json()["data"]["token"]
        return tenant_id

    async def make_role(self, identifier: str, name: str, permissions: list[str]) -> None:
        body = {"name": name, "permissions": permissions}
        answer = await self.call("POST", "/api/roles", as_whom=f"root in {identifier}", json=body)
        assert answer.status_code == 201, answer.text

    async def make_user(self, identifier: str, email: str, roles: list[str]) -> str:
        body = {"email": email, "password": PASSWORD, "fullName": "Somebody Else", "roles": roles}
        answer = await self.call("POST", "/api/users", as_whom=f"root in {identifier}", json=body)
        assert answer.status_code == 201, answer.text
        user_id: str = answer.json()["data"]["id"]
        return user_id


@cache
def registry_of(entities: tuple[type[Struct], ...]) -> Registry:
    return build_registry([*BUILTIN_ENTITIES, *entities])


async def open_test_app(
    environment: Mapping[str, str] | None = None, entities: Sequence[type[Struct]] = ENTITIES, **settings: Any
) -> TestApp:
    app = empty_test_app(environment, entities, **settings)
    await prepare_memory(app.services)
    return app


def empty_test_app(
    environment: Mapping[str, str] | None = None, entities: Sequence[type[Struct]] = ENTITIES, **settings: Any
) -> TestApp:
    """An application that stores nothing yet, no key to sign tokens with either."""
    read: Settings = read_settings({**SETTINGS, **(environment or {})})
    registry = registry_of(tuple(entities))
    adapters = memory_adapters(read, registry)
    services = assemble(adapters, read)
    return TestApp(client_of(services, HttpSettings(**settings)), services, adapters)


def client_of(services: Services, settings: HttpSettings) -> httpx.AsyncClient:
    """Calls the application in this process; every answer must be as the OpenAPI document tells it."""
    client = testing.client_of(asgi_of(services, settings))
    client.event_hooks = {"response": [described(services, settings).hold]}
    return client


@get("/theirs")
async def theirs() -> dict[str, str]:
    return {"whose": "theirs"}


@get("/theirs/missing")
async def missing() -> None:
    raise NotFoundException(detail="theirs alone")


_HOSTING: dict[tuple[Any, ...], Litestar] = {}
"""Applications by their routes: tests with the same routes share one."""


def hosting(app: TestApp, *routes: Any) -> ASGIApp:
    if routes not in _HOSTING:
        services = on_stand_ins(app.services)
        _HOSTING[routes] = Litestar(
            [theirs, missing],
            plugins=[HttpPlugin(services, build_pipeline(services, HttpSettings(), log_nothing), routes)],
            cors_config=CORSConfig(allow_origins=["https://a.example"]),
            logging_config=None,
        )
    return called_for(app.services, _HOSTING[routes])
