"""URLs with several hosts: the primary is found, past hosts that are away, silent or standbys."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import closing

import asyncpg
import pytest

from adapters.postgres.connection.connecting import NEXT_AFTER, connect, hosts_of
from tests.databases import named


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
def silent() -> Iterator[int]:
    """A port whose server never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


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


async def test_a_host_that_is_away_or_silent_is_passed_by(
    database_url: str, here: tuple[str, int], silent: int, refusing: int
) -> None:
    host, port = here
    user, at, _ = database_url.partition("://")[2].rpartition("@")
    hosts = f"host=127.0.0.1,127.0.0.1,{host}&port={silent},{refusing},{port}"
    url = f"postgresql://{user}{at}/{named(database_url)}?{hosts}"
    loop = asyncio.get_running_loop()
    for within in (NEXT_AFTER + 2, NEXT_AFTER):  # the second time it begins with the host that was good
        began = loop.time()
        connection = await connect(url, timeout=5)
        assert loop.time() - began < within
        assert await connection.fetchval("SELECT 1") == 1
        await connection.close()


async def test_where_no_host_will_do_the_last_reason_is_told(silent: int, refusing: int) -> None:
    with pytest.raises((OSError, asyncpg.PostgresError)):
        await connect(f"postgresql://u@127.0.0.1:{refusing},127.0.0.1:{refusing}/d", timeout=5)
    with pytest.raises(TimeoutError):
        await connect(f"postgresql://u@127.0.0.1:{refusing},127.0.0.1:{silent}/d", timeout=0.5)
