"""docs/own-queries.md: each of its blocks is a module, and its function is tried as it stands.

The route with which the page begins is called by ``tests/http/entities/test_own_sessions.py``.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.own_queries.repositories import orm_class
from domain.entities.catalogue import Product
from domain.scope import OneTenant
from tests.adapters.postgres.test_own_queries import HERE, THERE, Rows, rows

__all__ = ["rows"]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "own-queries.md"
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
