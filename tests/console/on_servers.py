"""The application on PostgreSQL and Redis, which every test finds as it was furnished, with a clock that tests move."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import uuid4

import asyncpg
from redis import Redis
from sqlalchemy import Table

from adapters.http.app import HttpSettings
from adapters.memory.clock import MovableClock
from adapters.postgres.schema.schema import metadata_for
from domain.entities.catalogue import ENTITIES
from entrypoints.assembly.adapters import memory_adapters, production_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import prepare_memory
from tests.http.app import SETTINGS, TestApp, client_of, registry_of
from tests.servers.databases import named

FORGOTTEN = ("limit:", "count:", "cache:")
"""Keys of Redis that tell of what tests did; the lease stays."""


@dataclass
class Stored:
    """Everything that the two servers hold for an application, kept in a second schema and put back from there."""

    owner: "asyncpg.Connection[asyncpg.Record]"
    redis: Redis
    prefix: str
    tables: Sequence[Table]
    tokens: dict[str, str] = field(default_factory=dict)
    kept_at: datetime | None = None

    async def keep(self, app: TestApp) -> None:
        copies = "; ".join(f"CREATE TABLE kept.{table.name} AS TABLE public.{table.name}" for table in self.tables)
        await self.owner.execute(f"CREATE SCHEMA kept; {copies}")
        self.tokens, self.kept_at = dict(app.tokens), app.adapters.clock.now()

    async def put_back(self, app: TestApp) -> None:
        """As a script in one transaction, without triggers: no change is written down and no row refers to nothing."""
        steps = [f"DELETE FROM {table.name}; {_filling(table)}" for table in self.tables]
        await self.owner.execute(
            f"SET LOCAL session_replication_role = replica; SET LOCAL synchronous_commit = off; {'; '.join(steps)}"
        )
        self.forget(FORGOTTEN)
        app.tokens.clear()
        app.tokens.update(self.tokens)
        clock = app.adapters.clock
        assert isinstance(clock, MovableClock)
        assert self.kept_at is not None
        clock.move(self.kept_at - clock.now())

    def forget(self, kinds: Sequence[str] = ("limit:",)) -> None:
        """Empties the windows of all limits, as if time had passed for Redis too, whose clock no test can move."""
        for kind in kinds:
            if keys := list(self.redis.scan_iter(f"*{self.prefix}*:{kind}*", count=10_000)):
                self.redis.unlink(*keys)


def _filling(table: Table) -> str:
    columns = ", ".join(f'"{column.name}"' for column in table.columns if column.computed is None)
    return f"INSERT INTO {table.name} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM kept.{table.name}"


@asynccontextmanager
async def open_app_on_servers(
    database_url: str, redis_url: str, environment: Mapping[str, str]
) -> AsyncIterator[tuple[TestApp, Stored]]:
    """All that is stored is in the two servers; mails, the DNS and providers of logins are the test's.

    Passwords cost next to nothing, as in memory.
    """
    prefix = f"tenantry-test-{uuid4().hex[:12]}"
    servers = {
        "TENANTRY_DATABASE_URL": database_url,
        "TENANTRY_REDIS_URL": redis_url,
        "TENANTRY_REDIS_PREFIX": prefix,
    }
    settings, registry = read_settings({**SETTINGS, **servers, **environment}), registry_of(tuple(ENTITIES))
    real, ours = production_adapters(settings, registry), memory_adapters(settings, registry)
    # today, since the audit trail has parts for the months around it
    clock = MovableClock(datetime.now(UTC))
    adapters = replace(
        real, clock=clock, passwords=ours.passwords, social=ours.social, dns=ours.dns, mailer=ours.mailer
    )
    services = assemble(adapters, settings)
    owner = await asyncpg.connect(database_url, server_settings={"tenantry.scope": "every"})
    # what a crash of the server would lose, no test asks for; waiting for the disk takes longer than all else
    await owner.execute(f'ALTER DATABASE "{named(database_url)}" SET synchronous_commit = off')
    with Redis.from_url(redis_url) as redis:
        stored = Stored(owner, redis, prefix, metadata_for(registry).sorted_tables)
        async with ours.life(), real.life():
            await prepare_memory(services)
            app = TestApp(client_of(services, HttpSettings()), services, adapters)
            yield app, stored
            await app.client.aclose()
        stored.forget(("",))
    await owner.close()
