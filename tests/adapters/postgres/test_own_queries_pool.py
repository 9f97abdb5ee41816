"""The pool of sessions for users' own queries."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.own_queries.sessions import CONNECTIONS, OwnQueries
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from tests.adapters.postgres.test_own_queries import HERE, meaning


@pytest.fixture
async def impatient(postgres: PostgresDatabase, registry: Registry) -> AsyncIterator[OwnQueries]:
    own = OwnQueries(postgres.connect_for_own_queries, registry, postgres.ids, patience=0.05)
    yield own
    await own.close()


async def ask(own: OwnQueries) -> None:
    async with own.session(HERE) as session:
        await session.execute(sa.text("SELECT 1"))


async def test_a_busy_pool_and_a_server_that_is_away_are_told_alike(
    impatient: OwnQueries, postgres: PostgresDatabase, registry: Registry
) -> None:
    async with AsyncExitStack() as busy:
        for _ in range(CONNECTIONS):
            session = await busy.enter_async_context(impatient.session(HERE))
            await session.execute(sa.text("SELECT 1"))
        assert isinstance(await meaning(ask(impatient)), ServiceUnavailable)
    await ask(impatient)
    away = replace(postgres, url="postgresql://nobody@127.0.0.1:1/none")
    own = OwnQueries(away.connect_for_own_queries, registry, postgres.ids)
    with pytest.raises(ServiceUnavailable):
        await ask(own)
    await own.close()


async def test_the_pool_is_opened_by_the_first_session(postgres: PostgresDatabase, registry: Registry) -> None:
    made: list[int] = []

    async def connect() -> Any:
        made.append(1)
        return await postgres.connect_for_own_queries()

    own = OwnQueries(connect, registry, postgres.ids)
    await own.close()
    assert not made
    async with own.session(HERE) as session:
        assert not made
        await session.execute(sa.text("SELECT 1"))
    assert len(made) == 1
    await own.close()
