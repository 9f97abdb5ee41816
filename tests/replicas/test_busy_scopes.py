"""A tenant that has its share of a replica's connections in use does not take the replica from the others."""

import asyncio

import pytest

from adapters.postgres.connection.shares import ScopeBusy
from adapters.postgres.connection.waiting import PoolBusy
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.replicas.positions import PrimaryLog
from adapters.postgres.replicas.replica import Replica
from application.ports.replicas import Position
from domain.errors import ServiceUnavailable


@pytest.mark.parametrize(("cause", "answers"), [(ScopeBusy, True), (PoolBusy, False), (ConnectionResetError, False)])
async def test_a_replica_rests_for_its_own_outages_alone(
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
