"""Commands of the command line on a server that takes no writes.

A tenant that has its share of a replica's connections in use does not take the replica from the others.
"""

import asyncio
import sys
from subprocess import run

import pytest

from adapters.postgres.connection.shares import ScopeBusy
from adapters.postgres.connection.waiting import PoolBusy
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.replicas.positions import PrimaryLog
from adapters.postgres.replicas.replica import Replica
from application.ports.replicas import Position
from domain.errors import ServiceUnavailable
from entrypoints.testing.app import SECRET_KEY
from tests.servers.databases import create_database
from tests.servers.postgres_servers import PostgresServer
from tests.servers.redis_servers import RedisServer

TENANTRY = (sys.executable, "-m", "entrypoints.cli.main")


@pytest.fixture
async def closed(primary: PostgresServer) -> str:
    """A database that takes no writes unless it is told to."""
    url = await create_database(primary.url, "closed", primary.url_of("migrated"))
    await primary.run("ALTER DATABASE closed SET default_transaction_read_only = on")
    return url


def test_a_check_reports_that_a_standby_is_read_only(running: PostgresServer, redis: RedisServer) -> None:
    assert "is a standby" in checked(running.url_of("tenantry"), redis)


def test_a_check_reports_a_read_only_database(closed: str, redis: RedisServer) -> None:
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


@pytest.mark.parametrize(("cause", "answers"), [(ScopeBusy, True), (PoolBusy, False), (ConnectionResetError, False)])
async def test_a_replica_pauses_only_for_its_outages(
    postgres: PostgresDatabase, cause: type[Exception], answers: bool
) -> None:
    position, log = Position(1, 1), PrimaryLog(postgres.url)
    now = asyncio.get_running_loop().time()
    replica = Replica("r", postgres, log, is_in_rotation=True, _position=position, _sampled_at=now)
    with pytest.raises(ServiceUnavailable):
        async with replica.in_time():
            raise ServiceUnavailable from cause()
    assert replica.may_answer(position) is answers
    assert replica._task is not None
    replica._task.cancel()
    await log.close()
