"""The pool of sessions for users' own queries."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.own_queries.sessions import CONNECTIONS, OwnQueries
from adapters.postgres.schema.row_security import ROLE
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from domain.scope import OneTenant
from tests.adapters.postgres.test_own_queries import HERE, THERE, meaning


@pytest.fixture
async def impatient(postgres: PostgresDatabase, registry: Registry) -> AsyncIterator[OwnQueries]:
    own = OwnQueries(
        postgres.connect_for_own_queries, postgres.session_settings(), registry, postgres.ids, patience=0.05
    )
    yield own
    await own.close()


async def ask(own: OwnQueries) -> None:
    async with own.session(HERE) as session:
        await session.execute(sa.text("SELECT 1"))


async def test_a_busy_pool_and_a_server_that_is_away_are_told_alike(
    impatient: OwnQueries, postgres: PostgresDatabase, registry: Registry
) -> None:
    async with AsyncExitStack() as busy:
        for tenant in (HERE, THERE) * (CONNECTIONS // 2) + (HERE,):
            session = await busy.enter_async_context(impatient.session(tenant))
            await session.execute(sa.text("SELECT 1"))
        assert isinstance(await meaning(ask(impatient)), ServiceUnavailable)
    await ask(impatient)
    away = replace(postgres, url="postgresql://nobody@127.0.0.1:1/none")
    own = OwnQueries(away.connect_for_own_queries, away.session_settings(), registry, postgres.ids)
    with pytest.raises(ServiceUnavailable):
        await ask(own)
    await own.close()


async def test_a_tenant_with_its_share_of_connections_stops_no_other(impatient: OwnQueries) -> None:
    async with AsyncExitStack() as busy:
        held = [await busy.enter_async_context(impatient.session(HERE)) for _ in range(CONNECTIONS)]
        for session in held[1:]:
            await session.execute(sa.text("SELECT 1"))
        # one more of the tenant is refused; a statement within a transaction, and another tenant's, are not
        with pytest.raises(PoolTimeoutError, match="share"):
            await held[0].execute(sa.text("SELECT 1"))
        await held[1].execute(sa.text("SELECT 1"))
        async with impatient.session(THERE) as other:
            await other.execute(sa.text("SELECT 1"))
        # a transaction that ends gives its place to the next; a savepoint does not
        async with held[1].begin_nested():
            pass
        with pytest.raises(PoolTimeoutError, match="share"):
            await held[0].execute(sa.text("SELECT 1"))
        await held[1].commit()
        await held[0].execute(sa.text("SELECT 1"))
    for _ in range(2 * CONNECTIONS):
        await ask(impatient)


async def test_a_session_that_is_asked_for_its_engine_keeps_no_place(impatient: OwnQueries) -> None:
    for _ in range(2 * CONNECTIONS):
        async with impatient.session(HERE) as session:
            session.get_bind()
    await ask(impatient)


async def test_the_pool_is_opened_by_the_first_session(postgres: PostgresDatabase, registry: Registry) -> None:
    made: list[int] = []

    async def connect() -> Any:
        made.append(1)
        return await postgres.connect_for_own_queries()

    own = OwnQueries(connect, postgres.session_settings(), registry, postgres.ids)
    await own.close()
    assert not made
    async with own.session(HERE) as session:
        assert not made
        await session.execute(sa.text("SELECT 1"))
    assert len(made) == 1
    await own.close()


@pytest.mark.parametrize(
    ("left", "asked", "seen"),
    [
        ("CREATE TEMP TABLE totals AS SELECT 1 AS n", "SELECT to_regclass('totals')::text", None),
        ("CREATE TEMP TABLE products (id int)", "SELECT 'products'::regclass = 'public.products'::regclass", True),
        ("DECLARE kept CURSOR WITH HOLD FOR SELECT 1", "SELECT count(*) FROM pg_cursors WHERE name = 'kept'", 0),
        ("SET search_path = pg_temp", "SHOW search_path", '"$user", public'),
        ("SET statement_timeout = '1ms'", "SHOW statement_timeout", "0"),
        ("SET lock_timeout = 0", "SHOW lock_timeout", "10s"),
        ("SET tenantry.scope = 'every'", "SELECT count(DISTINCT tenant_id) < 2 FROM categories", True),
        ("RESET ROLE", "SELECT current_user::text", ROLE),
        ("SET ROLE NONE", "SELECT current_user::text", ROLE),
        ("LISTEN news", "SELECT count(*) FROM pg_listening_channels()", 0),
        ("SELECT pg_advisory_lock(4711)", "SELECT count(*) FROM pg_locks WHERE objid = 4711", 0),
    ],
)
async def test_nothing_of_a_session_is_left_for_the_next_tenant(
    postgres: PostgresDatabase, registry: Registry, left: str, asked: str, seen: object
) -> None:
    """The next session has the same connection, of which there is no other."""
    own = OwnQueries(postgres.connect_for_own_queries, postgres.session_settings(), registry, postgres.ids)
    async with own.session(HERE) as session:
        before = await session.scalar(sa.text("SELECT pg_backend_pid()"))
        await session.execute(sa.text(left))
        await session.commit()
    async with own.session(OneTenant(postgres.ids.new())) as session:
        after = await session.scalar(sa.text("SELECT pg_backend_pid()"))
        found = await session.scalar(sa.text(asked))
    await own.close()
    assert (found, after) == (seen, before)


async def test_a_session_that_has_ended_takes_no_connection(postgres: PostgresDatabase, registry: Registry) -> None:
    """As a stream does that a handler returned: each such use kept a connection, and the sixth waited in vain."""
    own = OwnQueries(
        postgres.connect_for_own_queries, postgres.session_settings(), registry, postgres.ids, patience=0.05
    )
    for _ in range(CONNECTIONS + 1):
        async with own.session(HERE) as session:
            await session.execute(sa.text("SELECT 1"))
        with pytest.raises(InvalidRequestError, match="closed"):
            await session.execute(sa.text("SELECT 1"))
    await own.close()
