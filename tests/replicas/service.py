"""Processes of the service with read replicas: each with its own pools and samples, and the same Redis."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from adapters.http.app import HttpSettings
from adapters.postgres.replicas.reads import ReplicaReads
from adapters.redis.client import redis_client
from domain.entities.declaration import Registry
from entrypoints.assembly.adapters import production_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import ADMIN_EMAIL, ADMIN_PASSWORD, SECRET_KEY, client_of
from tests.http.built_once import asgi_of
from tests.waiting import until

READ_AFTER = "X-Read-After"


@dataclass
class Process:
    """A process of the service."""

    client: httpx.AsyncClient
    reads: ReplicaReads

    @property
    def answered(self) -> int:
        """Reads that replicas have answered."""
        return sum(replica.answered for replica in self.reads.replicas)

    async def call(self, method: str, path: str, token: str | None = None, **more: Any) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return await self.client.request(method, path, headers=headers, **more)

    async def login(self) -> str:
        body = {"email": ADMIN_EMAIL, "password": ADMIN_PASSWORD, "isPasswordEncrypted": False}
        answer = await self.call("POST", "/api/auth/login", json=body)
        assert answer.status_code == 200, answer.text
        token: str = answer.json()["data"]["token"]
        return token

    async def create(self, token: str) -> httpx.Response:
        answer = await self.call("POST", "/api/categories", token, json={"name": uuid4().hex})
        assert answer.status_code == 201, answer.text
        return answer


@dataclass
class Servers:
    """URLs of a primary, its replicas and a Redis."""

    database: str
    replicas: list[str]
    redis: str
    prefix: str = field(default_factory=lambda: f"replicas-{uuid4().hex[:8]}")

    @asynccontextmanager
    async def processes(self, registry: Registry, count: int = 2, **variables: str) -> AsyncIterator[list[Process]]:
        await self._remember_long()
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(self._process(registry, variables)) for _ in range(count)]

    async def _remember_long(self) -> None:
        """As if the server had kept last writes for an hour: a new one is not believed for ten seconds."""
        async with redis_client(self.redis) as client:
            server = (await client.info("server"))["run_id"]
            await client.set(f"{{{self.prefix}}}:written", f"0 {server}")

    @asynccontextmanager
    async def _process(self, registry: Registry, variables: dict[str, str]) -> AsyncIterator[Process]:
        given = {
            "DATABASE_URL": self.database,
            "DATABASE_REPLICA_URLS": ",".join(self.replicas),
            "DATABASE_CONNECTIONS": "5",
            "REDIS_URL": self.redis,
            "REDIS_PREFIX": self.prefix,
            "SECRET_KEY": SECRET_KEY,
            "RATE_LIMITS": "off",
            **variables,
        }
        settings = read_settings({f"TENANTRY_{name}": value for name, value in given.items()})
        adapters = production_adapters(settings, registry)
        async with adapters.life():
            services = assemble(adapters, settings)
            await services.signing_keys.ensure()
            await services.first_start.prepare(ADMIN_EMAIL, ADMIN_PASSWORD)
            async with client_of(asgi_of(services, HttpSettings(counts_limits=False))) as client:
                assert isinstance(adapters.replica_reads, ReplicaReads)
                yield Process(client, adapters.replica_reads)


async def rotated(process: Process, token: str) -> None:
    """Waits until a replica answers reads of the session."""
    before = process.answered

    async def is_answered_by_a_replica() -> bool:
        answer = await process.call("GET", "/api/categories", token)
        assert answer.status_code == 200, answer.text
        return process.answered > before

    await until(is_answered_by_a_replica)
