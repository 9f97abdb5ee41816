"""URLs with several hosts: the primary is found, past hosts that are away, silent or standbys."""

import socket
from collections.abc import Iterator
from contextlib import closing, suppress

import asyncpg
import pytest

from adapters.postgres.connection.connecting import connect, hosts_of
from tests.databases import named
from tests.waiting import HUNG_AFTER


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://h/d", [("h", 5432)]),
        ("postgresql:///d", [("", 5432)]),
        ("postgresql:///d?host=/run/postgresql&port=5433", [("/run/postgresql", 5433)]),
        ("postgresql:///d?host=a,b", [("a", 5432), ("b", 5432)]),
        ("postgresql:///d?host=a,b&port=1,2", [("a", 1), ("b", 2)]),
        ("postgresql://u:p@a:1,b:2/d?target_session_attrs=primary", [("a", 1), ("b", 2)]),
        ("postgresql://u:p,q@a,b:2/d", [("a", 5432), ("b", 2)]),
        ("postgresql://[::1]:1,[::2]/d", [("::1", 1), ("::2", 5432)]),
    ],
)
def test_hosts_are_read(url: str, hosts: list[tuple[str, int]]) -> None:
    assert hosts_of(url) == hosts


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server that never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        yield server


def port_of(server: socket.socket) -> int:
    port: int = server.getsockname()[1]
    return port


def accepted(server: socket.socket) -> int:
    """How many have come to the server."""
    number = 0
    with suppress(BlockingIOError):
        while True:
            server.accept()[0].close()
            number += 1
    return number


@pytest.fixture
def refusing() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture
async def here(database_url: str) -> tuple[str, int]:
    """Host and port of the server of the tests."""
    (found,) = hosts_of(database_url)
    return found


@pytest.mark.promise("scale, failover: Hosts that are away or silent are passed by")
async def test_a_host_that_is_away_or_silent_is_passed_by(
    database_url: str, here: tuple[str, int], silent: socket.socket, refusing: int
) -> None:
    host, port = here
    user, at, _ = database_url.partition("://")[2].rpartition("@")
    hosts = f"host=127.0.0.1,127.0.0.1,{host}&port={port_of(silent)},{refusing},{port}"
    url = f"postgresql://{user}{at}/{named(database_url)}?{hosts}"
    for _ in range(2):
        connection = await connect(url, timeout=HUNG_AFTER)
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()
    assert accepted(silent) == 1  # the second time it begins with the host that was good


async def test_where_no_host_will_do_the_last_reason_is_told(silent: socket.socket, refusing: int) -> None:
    with pytest.raises((OSError, asyncpg.PostgresError)):
        await connect(f"postgresql://u@127.0.0.1:{refusing},127.0.0.1:{refusing}/d", timeout=HUNG_AFTER)
    with pytest.raises(TimeoutError):
        await connect(f"postgresql://u@127.0.0.1:{refusing},127.0.0.1:{port_of(silent)}/d", timeout=0.5)
