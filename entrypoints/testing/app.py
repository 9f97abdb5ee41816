"""In-memory service with a movable clock, for tests of a project's entities and routes."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast
from uuid import uuid4

import httpx
from litestar import Litestar
from litestar.types import ASGIApp, ControllerRouterHandler
from msgspec import Struct

from adapters.http.operations.access_log import log_nothing
from adapters.memory.clock import MovableClock
from adapters.memory.mail import MemoryMailer
from application.ports.mail_delivery import Message
from domain.identity.signing_keys import SigningKey
from domain.scope import EveryTenant
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import Services
from entrypoints.server.plugin import Runtime, Service, TenantryPlugin
from entrypoints.settings.settings import read_settings

ADMIN_EMAIL = "admin@example.com"
ADMIN_PASSWORD = "correct horse battery"  # noqa: S105  # of applications that end with their test
SECRET_KEY = "a secret key for tests, long enough"  # noqa: S105  # guards nothing
ENVIRONMENT = {"TENANTRY_RATE_LIMITS": "off"}

Headers = dict[str, str]
Json = dict[str, Any]

_KEYS: list[SigningKey] = []
"""Signing keys by SECRET_KEY. All applications of a test run share them, because creating one needs a tenth of a
second.
"""


@dataclass(frozen=True)
class MemoryApp:
    """A running application. ``client`` calls it without a socket, ``clock.move(timedelta(hours=1))`` advances time."""

    application: Litestar
    client: httpx.AsyncClient
    plugin: TenantryPlugin

    @property
    def clock(self) -> MovableClock:
        return cast(MovableClock, self.plugin.adapters.clock)

    async def login(self, email: str = ADMIN_EMAIL, password: str = ADMIN_PASSWORD, tenant: str = "") -> Headers:
        """Return the headers for requests of a user: ``await app.client.get("/api/products", headers=await
        app.login())``.

        ``tenant`` is the id of the tenant, for a user with several tenants.
        """
        body = {"email": email, "password": password, **({"preferredTenantId": tenant} if tenant else {})}
        return _bearer(await self._post("/api/auth/login", body))

    async def create_tenant(self, identifier: str) -> Headers:
        """Create a tenant; return the super-admin's headers for it: ``acme = await app.create_tenant("acme")``."""
        root = await self.login()
        made = await self._post("/api/tenants", {"name": identifier.title(), "identifier": identifier}, root)
        return _bearer(await self._post("/api/auth/switch-tenant", {"tenantId": made["id"]}, root))

    async def create_user(self, tenant: Headers, email: str, permissions: Sequence[str] = ()) -> Headers:
        """Create a user with exactly these permissions in ``tenant``, given as headers; return the user's headers."""
        role = f"Role {uuid4().hex}"
        await self._post("/api/roles", {"name": role, "permissions": list(permissions)}, tenant)
        user = {"email": email, "password": ADMIN_PASSWORD, "fullName": "Somebody Else", "roles": [role]}
        await self._post("/api/users", user, tenant)
        return await self.login(email)

    async def mails(self) -> list[Message]:
        """Return the sent mails, oldest first."""
        await self.plugin.use_cases.relay.deliver()
        return list(cast(MemoryMailer, self.plugin.adapters.mailer).sent)

    async def _post(self, path: str, body: Json, headers: Headers | None = None) -> Json:
        answer = await self.client.post(path, json=body, headers=headers)
        assert answer.is_success, answer.text
        data: Json = answer.json()["data"]
        return data


@asynccontextmanager
async def open_app(
    *,
    entities: Sequence[type[Struct]] | None = None,
    routes: Sequence[ControllerRouterHandler] = (),
    settings: Mapping[str, str] | None = None,
    application: Callable[[TenantryPlugin], Litestar] | None = None,
) -> AsyncIterator[MemoryApp]:
    """Open the service in memory, with ``entities``, ``routes`` and its first super-admin.

    ``settings`` are environment variables. ``application`` is a function that puts the plugin into your application.
    Rate limits are off unless the settings enable them.
    """
    read = read_settings({**ENVIRONMENT, **(settings or {}), "TENANTRY_SECRET_KEY": SECRET_KEY})
    made = Service if application is None else TenantryPlugin
    plugin = made(read, entities=entities, routes=routes, runtime=MEMORY)
    app = plugin.application() if isinstance(plugin, Service) else cast(Any, application)(plugin)
    async with app.lifespan(), client_of(app) as client:
        yield MemoryApp(app, client, plugin)


def client_of(app: ASGIApp) -> httpx.AsyncClient:
    """Return a client that calls the application in this process."""
    asgi = cast(Any, app)  # Litestar and httpx declare different types for the same callable
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=asgi), base_url="http://localhost")


async def prepare_memory(services: Services) -> None:
    """Create signing keys and the first super-admin."""
    await ensure_keys(services)
    await services.first_start.prepare(ADMIN_EMAIL, ADMIN_PASSWORD)


async def ensure_keys(services: Services) -> None:
    """Store the keys created by another application of this run."""
    async with services.database.autocommit(EveryTenant()) as tx:
        for key in _KEYS:
            await tx.keys.add_first(key)
    await services.signing_keys.ensure()
    async with services.database.read_only(EveryTenant()) as read:
        _KEYS[:] = await read.keys.all()


@asynccontextmanager
async def _prepared(services: Services) -> AsyncIterator[None]:
    await prepare_memory(services)
    yield


def _bearer(data: Json) -> Headers:
    return {"Authorization": f"Bearer {data['token']}"}


MEMORY = Runtime(adapters=memory_adapters, background=_prepared, log=log_nothing)
