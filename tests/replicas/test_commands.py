"""Commands of the command line on a server that takes no writes."""

import sys
from subprocess import run

import pytest

from entrypoints.testing.app import SECRET_KEY
from tests.databases import create_database
from tests.postgres_server import PostgresServer
from tests.redis_server import RedisServer

TENANTRY = (sys.executable, "-m", "entrypoints.cli.main")


@pytest.fixture
async def closed(primary: PostgresServer) -> str:
    """A database that takes no writes unless it is told to."""
    url = await create_database(primary.url, "closed", primary.url_of("migrated"))
    await primary.run("ALTER DATABASE closed SET default_transaction_read_only = on")
    return url


def test_a_check_tells_that_a_standby_takes_no_writes(running: PostgresServer, redis: RedisServer) -> None:
    assert "is a standby" in checked(running.url_of("tenantry"), redis)


def test_a_check_tells_that_a_database_takes_no_writes(closed: str, redis: RedisServer) -> None:
    assert "default_transaction_read_only is on" in checked(closed, redis)


def checked(database_url: str, redis: RedisServer) -> str:
    """What a failing ``tenantry check`` says."""
    variables = {
        "TENANTRY_DATABASE_URL": database_url,
        "TENANTRY_REDIS_URL": redis.url,
        "TENANTRY_SECRET_KEY": SECRET_KEY,
    }
    ended = run([*TENANTRY, "check"], env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode != 0, ended.stdout
    return ended.stdout
