"""Connections by a URL with several hosts. The service uses only the primary."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import asyncpg

from adapters.postgres.connection.connections import Connection
from adapters.postgres.connection.failures import opening, translated
from adapters.postgres.connection.poolers import (
    AT_START,
    ClusterConnection,
    Route,
    TransactionConnection,
    settings_text,
)

NEXT_AFTER = 0.25
"""Seconds to wait for a silent host before trying the next host in parallel."""

OF_CLUSTER = {"citus.propagate_set_commands": "local"}
"""Settings of a session on a coordinator: nodes receive SET LOCAL."""

Host = tuple[str, int]

_GOOD: dict[str, Host] = {}
"""Last connected host of each URL, tried first."""


async def connect(url: str, *, pooler: Route = "none", **options: Any) -> Connection:
    """Open a connection with the options' settings.

    Behind a pooler, set them by statements: poolers refuse or drop startup parameters.
    """
    if pooler == "none":
        return await _opened(url, options)
    if pooler == "citus":
        options["server_settings"] = {**options.get("server_settings", {}), **OF_CLUSTER}
        return await _opened(url, {**options, "connection_class": ClusterConnection})
    settings: dict[str, str] = options.pop("server_settings", {})
    options["server_settings"] = {name: value for name, value in settings.items() if name in AT_START}
    if pooler == "transaction":
        options |= {"connection_class": TransactionConnection, "statement_cache_size": 0}
    connection = await _opened(url, options)
    if pooler == "transaction":  # isinstance() is true for every class of asyncpg connection
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
    """Yield a connection with asyncpg's options. Raises ServiceUnavailable."""
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
    """Open a connection.

    Of several hosts, use the first that answers as the primary, or in the role that the URL requires.

    asyncpg tries hosts in sequence, and an unreachable host uses up the time limit.
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
    """Return the hosts and ports of ``postgresql://u@db1:5432,db2/shop`` or ``postgresql:///shop?host=db1,db2``."""
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
    """Split ``db1:5433``, ``db1`` or ``[::1]:5433`` into host and port."""
    name, _, port = entry.rpartition(":")
    return (name.strip("[]"), int(port)) if name and port.isdecimal() else (entry.strip("[]"), 5432)


async def _first(url: str, hosts: Sequence[Host], options: dict[str, Any]) -> tuple[Host, Connection]:
    """Return the first connection and its host. Raises the last host's error if all fail."""
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
    """Close the connection to a second host."""
    with suppress(asyncio.CancelledError, Exception):
        attempt.result().terminate()
