"""Connecting by a URL that may name several hosts, of which only the primary is wanted."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import asyncpg

from adapters.postgres.connection.connections import Connection
from adapters.postgres.connection.failures import opening, translated
from adapters.postgres.connection.poolers import AT_START, Pooler, TransactionConnection, settings_text

NEXT_AFTER = 0.25
"""Seconds after which the next host is tried beside one that has not answered: it may be switched off."""

Host = tuple[str, int]

_GOOD: dict[str, Host] = {}
"""The host of each URL that was connected to last; tried first."""


async def connect(url: str, *, pooler: Pooler = "none", **options: Any) -> Connection:
    """Opens a connection with the settings of the options.

    Behind a pooler they are set by statements: it would refuse them at the start, or leave them out.
    """
    if pooler == "none":
        return await _opened(url, options)
    settings: dict[str, str] = options.pop("server_settings", {})
    options["server_settings"] = {name: value for name, value in settings.items() if name in AT_START}
    if pooler == "transaction":
        options |= {"connection_class": TransactionConnection, "statement_cache_size": 0}
    connection = await _opened(url, options)
    if pooler == "transaction":  # isinstance() is true of every connection of asyncpg, whatever the class
        cast(TransactionConnection, connection).local = settings_text(settings, "SET LOCAL")
    else:
        try:
            await connection.execute(settings_text(settings, "SET"))
        except BaseException:
            connection.terminate()
            raise
    return connection


@asynccontextmanager
async def connected(url: str, **options: Any) -> AsyncIterator[Connection]:
    """A connection for the block, with the options of asyncpg. Raises ServiceUnavailable."""
    with translated():
        connection = await connect(url, timeout=5, **options)
    try:
        with translated(connection):
            yield connection
    finally:
        await connection.close()


async def _opened(url: str, options: dict[str, Any]) -> Connection:
    with opening(url):
        return await _opened_one(url, options)


async def _opened_one(url: str, options: dict[str, Any]) -> Connection:
    """asyncpg's ``connect``; of several hosts the first that answers as the primary, or as the URL asks.

    asyncpg tries hosts one after the other within one limit of time, which a host that is switched off uses up alone.
    """
    hosts = hosts_of(url)
    if len(hosts) < 2:
        return await asyncpg.connect(url, **options)
    hosts.sort(key=lambda host: host != _GOOD.get(url))
    if "target_session_attrs" not in parse_qs(urlsplit(url).query):
        options["target_session_attrs"] = "primary"
    async with asyncio.timeout(options.pop("timeout", 5.0)):
        host, connection = await _first(url, hosts, options)
    _GOOD[url] = host
    return connection


def hosts_of(url: str) -> list[Host]:
    """Hosts with their ports: ``postgresql://u@db1:5432,db2/tenantry`` or ``postgresql:///tenantry?host=db1,db2``."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    listed = parts.netloc.rpartition("@")[2].split(",")
    if listed == [""]:
        names = query.get("host", [""])[-1].split(",")
        ports = query.get("port", ["5432"])[-1].split(",")
        ports *= len(names) if len(ports) == 1 else 1
        return [(name, int(port)) for name, port in zip(names, ports, strict=True)]
    return [_host(entry) for entry in listed]


def _host(entry: str) -> Host:
    """``db1:5433``, ``db1``, ``[::1]:5433``."""
    name, _, port = entry.rpartition(":")
    return (name.strip("[]"), int(port)) if name and port.isdecimal() else (entry.strip("[]"), 5432)


async def _first(url: str, hosts: Sequence[Host], options: dict[str, Any]) -> tuple[Host, Connection]:
    """Raises the last host's error where none will do."""
    attempts: dict[asyncio.Task[Connection], Host] = {}
    waiting = list(hosts)
    failure: BaseException = OSError("no host")
    try:
        while waiting or attempts:
            if waiting:
                name, port = waiting.pop(0)
                attempts[asyncio.create_task(_connection(url, name, port, options))] = (name, port)
            done, _ = await asyncio.wait(
                attempts, timeout=NEXT_AFTER if waiting else None, return_when=asyncio.FIRST_COMPLETED
            )
            for attempt in done:
                host, error = attempts.pop(attempt), attempt.exception()
                if error is None:
                    return host, attempt.result()
                failure = error
        raise failure
    finally:
        for attempt in attempts:
            attempt.cancel()
            attempt.add_done_callback(_hang_up)


async def _connection(url: str, name: str, port: int, options: dict[str, Any]) -> Connection:
    return await asyncpg.connect(url, host=name, port=port, **options)


def _hang_up(attempt: "asyncio.Task[Connection]") -> None:
    """A second host that answered in the same moment."""
    with suppress(asyncio.CancelledError, Exception):
        attempt.result().terminate()
