"""Databases of a benchmark: made, loaded, watched and dropped."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import asyncpg
from redis.asyncio import Redis
from redis.exceptions import RedisError

from adapters.embedded import start_embedded
from benchmarks.failures import BenchmarkFailed
from benchmarks.processes import cores, cpu_seconds, parent, pinned

DEFAULT_DATABASE = "postgresql://127.0.0.1:5432/postgres"
DEFAULT_REDIS = "redis://127.0.0.1:6379/9"


@asynccontextmanager
async def servers() -> AsyncIterator[tuple[str, str]]:
    """URLs of PostgreSQL and Redis: those of the tests, else of this machine, else of embedded servers."""
    database_url = os.environ.get("TENANTRY_TEST_DATABASE_URL") or await _if_answering(DEFAULT_DATABASE)
    redis_url = os.environ.get("TENANTRY_TEST_REDIS_URL") or await _if_redis_answers(DEFAULT_REDIS)
    with TemporaryDirectory(prefix="tenantry-bench-") as folder:
        embedded = start_embedded(Path(folder), postgres=database_url is None, valkey=redis_url is None, durable=True)
        try:
            yield database_url or str(embedded.owner_url), redis_url or str(embedded.redis_url)
        finally:
            embedded.stop()


async def _if_answering(url: str) -> str | None:
    with suppress(OSError, asyncpg.PostgresError):
        await (await asyncpg.connect(url, timeout=3)).close()
        return url
    return None


async def _if_redis_answers(url: str) -> str | None:
    with suppress(OSError, RedisError):
        async with Redis.from_url(url, socket_timeout=3) as redis:
            await redis.ping()
            return url
    return None


class Database:
    """A database of the benchmark; row-level security does not apply to ``connection``."""

    def __init__(self, url: str, connection: asyncpg.Connection) -> None:
        self.url, self.connection = url, connection

    async def cpu(self) -> float:
        """CPU seconds of the server's processes for this database; 0 when it runs on another machine."""
        rows = await self.connection.fetch(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return cpu_seconds(row["pid"] for row in rows)


@asynccontextmanager
async def database(server_url: str, name: str) -> AsyncIterator[Database]:
    url = urlsplit(server_url)._replace(path=f"/{name}").geturl()
    await _run(server_url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    await _run(server_url, f'CREATE DATABASE "{name}"')
    try:
        connection = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
        try:
            yield Database(url, connection)
        finally:
            await connection.close()
    finally:
        await _run(server_url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@asynccontextmanager
async def login_role(server_url: str, name: str) -> AsyncIterator[None]:
    """Removes a role that the service's start makes, before and after; its database must be gone by the end."""
    await _run(server_url, f'DROP ROLE IF EXISTS "{name}"')
    try:
        yield
    finally:
        await _run(server_url, f'DROP ROLE IF EXISTS "{name}"')


def as_role(url: str, name: str) -> str:
    """The address of a database with another login."""
    parts = urlsplit(url)
    return parts._replace(netloc=f"{name}:a-password-for-benchmarks@{parts.netloc.rpartition('@')[2]}").geturl()


async def _run(url: str, statement: str) -> None:
    try:
        connection = await asyncpg.connect(url)
    except (OSError, asyncpg.PostgresError) as error:
        raise BenchmarkFailed(f"PostgreSQL does not answer: {error}") from None
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


@contextmanager
def held_on_their_cores(processes: list[int]) -> Iterator[bool]:
    """Keeps the databases to the cores of the load; False where that is not allowed, or there is one core."""
    servers_core, others = cores()
    if servers_core == others:
        yield False
        return
    if not processes:
        yield True
        return
    with pinned(processes[0], others) as first, held_on_their_cores(processes[1:]) as rest:
        yield first and rest


async def server_processes(database_url: str, redis_url: str) -> list[int]:
    """Process ids of the databases, where they run on this machine."""
    connection = await asyncpg.connect(database_url)
    try:
        postmaster = parent(await connection.fetchval("SELECT pg_backend_pid()"))
    finally:
        await connection.close()
    async with Redis.from_url(redis_url) as redis:
        memory = (await redis.info("server"))["process_id"]
    found = [(postmaster, "postgres"), (memory, "")]
    return [pid for pid, name in found if pid > 1 and _is_called(pid, name)]


def _is_called(pid: int, name: str) -> bool:
    with suppress(OSError):
        return name in Path(f"/proc/{pid}/comm").read_text()
    return False
