"""Description of the machine that was measured on."""

import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import asyncpg
from redis.asyncio import Redis

from benchmarks.processes import cores

SHOWN = ("litestar", "granian", "asyncpg", "msgspec", "redis", "uvloop")


async def describe(database_url: str, redis_url: str) -> list[str]:
    lines = [
        f"{_processor()}, {_memory_gib():.0f} GiB, {platform.system()} {platform.release()}",
        f"Python {platform.python_version()}, {await _postgres(database_url)}, {await _redis(redis_url)}",
        ", ".join(f"{name} {version(name)}" for name in SHOWN),
    ]
    return [*lines, *_where()]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(models)} cores of {models[0]}" if models else platform.machine()


def _memory_gib() -> float:
    total = next(line for line in Path("/proc/meminfo").read_text().splitlines() if line.startswith("MemTotal"))
    return int(total.split()[1]) / 1024**2


def _where() -> Iterator[str]:
    servers, others = cores()
    if servers == others:
        yield "one core for everything: servers, load and databases were in each other's way"
    else:
        yield f"servers on core {_names(servers)}, load and databases on core {_names(others)}, over loopback"


def _names(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


async def _postgres(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        number = await connection.fetchval("SHOW server_version")
        settings = [f"{name} {await connection.fetchval(f'SHOW {name}')}" for name in ("shared_buffers", "fsync")]
        return f"PostgreSQL {number.split()[0]} ({', '.join(settings)})"
    finally:
        await connection.close()


async def _redis(url: str) -> str:
    async with Redis.from_url(url) as redis:
        server = await redis.info("server")
        if "valkey_version" in server:
            return f"Valkey {server['valkey_version']}"
        return f"Redis {server['redis_version']}"
