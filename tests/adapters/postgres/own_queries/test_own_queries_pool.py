"""The pool of sessions for users' own queries.

docs/own-queries.md: each of its blocks is a module, and its function is tried as it stands.

The route with which the page begins is called by ``tests/http/entities/own/test_own_sessions.py``.
"""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import InvalidRequestError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.ext.asyncio import AsyncSession

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.own_queries.repositories import orm_class
from adapters.postgres.own_queries.sessions import CONNECTIONS, OwnQueries
from adapters.postgres.schema.row_security import ROLE
from domain.entities.catalogue import Product
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from domain.scope import OneTenant
from tests.adapters.postgres.own_queries.test_own_queries import HERE, THERE, Rows, meaning, rows


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


async def test_a_busy_pool_and_an_unreachable_server_are_both_service_unavailable(
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


async def test_a_session_that_was_asked_for_its_engine_releases_its_connection(impatient: OwnQueries) -> None:
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


async def test_a_closed_session_uses_no_connection(postgres: PostgresDatabase, registry: Registry) -> None:
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


__all__ = ["rows"]

PAGE = Path(__file__).resolve().parents[4] / "docs" / "own-queries.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def function_of(name: str) -> Any:
    (block,) = (block for block in BLOCKS if f"async def {name}(" in block)
    module: dict[str, Any] = {}
    exec(compile(block, str(PAGE), "exec"), module)
    return module[name]


async def stock_value(session: AsyncSession) -> Decimal:
    product = orm_class(Product, session)
    return await session.scalar(sa.select(sa.func.sum(product.price * product.stock))) or Decimal(0)


ASKED: Mapping[str, object] = {
    "stock_by_category": {"Things": 2},
    "reviewed_products": [{"name": "lamp", "category": "Things", "ratings": [5]}],
    "dearest": (["table", "lamp"], 2),
}


@pytest.mark.parametrize("name", ASKED)
async def test_a_query_of_the_page_answers(rows: Rows, postgres: PostgresDatabase, name: str) -> None:
    for scope in (HERE, THERE):
        async with postgres.session(scope) as session:
            assert await function_of(name)(session) == ASKED[name]


async def test_a_tenant_without_rows_sees_none(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(OneTenant(UUID(int=1))) as session:
        assert await stock_value(session) == 0


async def test_the_page_changes_rows(rows: Rows, postgres: PostgresDatabase) -> None:
    async with postgres.session(HERE) as session:
        assert await function_of("reprice")(session, rows[HERE]["category"], Decimal(2)) == 2
    for scope, value in ((HERE, 201), (THERE, Decimal("100.50"))):
        async with postgres.session(scope) as session:
            assert await stock_value(session) == value


def test_every_block_is_tried() -> None:
    tried = {*ASKED, "reprice", "stock_value"}
    assert {name for block in BLOCKS for name in re.findall(r"async def (\w+)\(", block)} == tried
    assert len(BLOCKS) == len(tried)
