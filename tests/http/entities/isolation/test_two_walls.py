"""Statements name the tenant, and row-level security filters rows: each of the two alone keeps tenants apart."""

import sys
from collections.abc import AsyncIterator, Callable, Iterator

import asyncpg
import pytest
import sqlalchemy as sa

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.schema.schema import metadata_for
from adapters.postgres.statements import rows
from domain.entities.declaration import Registry
from tests.http.entities.isolation.isolation import PLURALS, Ground, ensure_absent_elsewhere, open_ground


def _statements() -> Iterator[object]:
    """What modules of statements define or import."""
    for name, module in list(sys.modules.items()):
        if name.startswith("adapters.postgres.entities"):
            yield from vars(module).values()


def _forget_statements() -> None:
    for thing in _statements():
        forget: Callable[[], None] | None = getattr(thing, "cache_clear", None)
        if forget is not None:
            forget()


@pytest.fixture
async def without_policies(owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry) -> AsyncIterator[None]:
    tables = [table.name for table in metadata_for(registry).sorted_tables]
    protected = await owner.fetch("SELECT relname FROM pg_class WHERE relrowsecurity AND relname = ANY($1)", tables)
    for table in protected:
        await owner.execute(f"ALTER TABLE {table['relname']} DISABLE ROW LEVEL SECURITY")
    yield
    for table in protected:
        await owner.execute(f"ALTER TABLE {table['relname']} ENABLE ROW LEVEL SECURITY")


@pytest.fixture
def without_condition(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Statements are built anew, without the one condition that names the tenant."""
    written = rows.of_tenant
    for name, module in list(sys.modules.items()):
        if name.startswith("adapters.postgres") and getattr(module, "of_tenant", None) is written:
            monkeypatch.setattr(module, "of_tenant", lambda _: sa.true())
    _forget_statements()
    yield
    monkeypatch.undo()
    _forget_statements()


@pytest.fixture
async def ground(postgres: PostgresDatabase, registry: Registry) -> AsyncIterator[Ground]:
    made = await open_ground(postgres, registry)
    yield made
    await made.app.client.aclose()


@pytest.mark.promise(
    "security, isolation: the condition on the tenant in each statement and row-level security each keep tenants apart "
    "alone"
)
@pytest.mark.usefixtures("without_policies")
async def test_statements_without_row_level_security_isolate_tenants(ground: Ground) -> None:
    for plural in PLURALS:
        await ensure_absent_elsewhere(ground, plural)


@pytest.mark.promise(
    "security, isolation: the condition on the tenant in each statement and row-level security each keep tenants apart "
    "alone"
)
@pytest.mark.usefixtures("without_condition")
async def test_row_level_security_without_conditions_isolates_tenants(ground: Ground) -> None:
    for plural in PLURALS:
        await ensure_absent_elsewhere(ground, plural)


@pytest.mark.promise(
    "security, isolation: the condition on the tenant in each statement and row-level security each keep tenants apart "
    "alone"
)
@pytest.mark.usefixtures("without_policies", "without_condition")
async def test_without_both_walls_rows_of_another_tenant_are_visible(ground: Ground) -> None:
    """Or the tests above would not have taken anything away."""
    with pytest.raises(AssertionError):
        await ensure_absent_elsewhere(ground, "categories")
