"""Which nodes a request asks, by the plans of a cluster; and migrations before and after the distribution."""

from typing import Annotated, Any
from urllib.parse import parse_qsl
from uuid import UUID

import asyncpg
import msgspec
import pytest
from msgspec import Struct

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.select import count_shape, get_shape, page_shape, values_of
from adapters.postgres.entities.reading.select_rows import count_statement, get_statement, page_statement
from adapters.postgres.migrations import inspection
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.operations.distribution import distribute, distribution_mistakes
from adapters.postgres.statements.compiled import CompiledStatement, explained
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.declaration import Registry
from domain.entities.markers import entity, ref
from domain.entities.query.query import View
from domain.entities.query.read_query import read_query
from domain.entities.registry import build_registry
from domain.scope import OneTenant
from tests.builders import new_id
from tests.citus.conftest import Cluster
from tests.golden.test_select_statements import QUERIES, cursor_queries

pytestmark = pytest.mark.citus

ASKED = [(plural, asked) for plural, asked, scope in QUERIES if isinstance(scope, OneTenant)]


@entity("shelves")
class Shelf(Struct, rename="camel", kw_only=True):
    name: str
    category_id: Annotated[UUID | None, ref("categories")] = None


async def tasks_of(database: PostgresDatabase, statement: CompiledStatement, values: dict[str, Any]) -> list[int]:
    """The numbers of tasks in the plan: a task is a statement for a shard."""
    asked = explained(statement)
    async with database.read_only(OneTenant(values["tenant"])) as read:
        plan = msgspec.json.decode(await read.connection.fetchval(asked.text, *asked.arguments(values)))
    return list(_numbers(plan))


def _numbers(plan: Any) -> Any:
    if isinstance(plan, dict):
        yield from ([plan["Task Count"]] if "Task Count" in plan else [])
        plan = list(plan.values())
    for part in plan if isinstance(plan, list) else []:
        yield from _numbers(part)


@pytest.mark.parametrize(("plural", "asked"), ASKED)
async def test_a_page_and_its_total_ask_one_node(
    database: PostgresDatabase, registry: Registry, plural: str, asked: str
) -> None:
    scope, model = OneTenant(new_id()), registry[plural]
    query = read_query(model, registry, frozenset(), parse_qsl(asked))
    values = values_of(scope, query)
    for statement in (
        page_statement(registry, model, page_shape(scope, query)),
        count_statement(registry, model, count_shape(scope, query)),
    ):
        assert await tasks_of(database, statement, values) == [1]


async def test_a_page_after_a_cursor_asks_one_node(database: PostgresDatabase, registry: Registry) -> None:
    scope = OneTenant(new_id())
    for plural, asked in cursor_queries(registry):
        model = registry[plural]
        query = read_query(model, registry, frozenset(), parse_qsl(asked))
        statement = page_statement(registry, model, page_shape(scope, query))
        assert await tasks_of(database, statement, values_of(scope, query)) == [1], asked


async def test_a_row_with_a_relation_asks_one_node(database: PostgresDatabase, registry: Registry) -> None:
    scope, model = OneTenant(new_id()), registry["products"]
    statement = get_statement(registry, model, get_shape(scope, View(include=(("category",),))))
    values = {**values_of(scope, read_query(model, registry, frozenset(), ())), "id": new_id()}
    assert await tasks_of(database, statement, values) == [1]


async def test_a_distribution_is_repeated_without_effect(cluster: Cluster, registry: Registry) -> None:
    url = cluster.urls[0]
    assert await distribution_mistakes(url, registry) == []
    assert await distribute(url, registry) == []
    assert await upgrade(url, registry) == []
    examined = await inspection.examined(url, registry)
    assert (examined.differences, examined.gaps) == ([], [])


async def test_tables_before_the_extension_and_a_later_entity_are_distributed(
    servers_of_citus: Cluster, registry: Registry, tmp_path: Any
) -> None:
    made = await servers_of_citus.create()
    try:
        url, folders = made.urls[0], [VERSIONS, tmp_path / "migrations"]
        folders[1].mkdir()
        assert await upgrade(url, registry) == []
        assert await distribution_mistakes(url, registry) == ["The server has no Citus. Run: tenantry migrate"]
        await made.install()
        assert "products" in await distribute(url, registry)
        later = build_registry([*ENTITIES, *BUILTIN_ENTITIES, Shelf])
        assert await write_migration(url, later, "shelves", folders) is not None
        await upgrade(url, later, folders)
        assert await distribute(url, later) == ["shelves"]
        examined = await inspection.examined(url, later, folders)
        assert (examined.differences, examined.gaps) == ([], [])
        owner = await asyncpg.connect(url)
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            await owner.execute(
                "INSERT INTO shelves (tenant_id, id, name, category_id, created_at, updated_at, version)"
                " VALUES ($1, $1, 'x', $1, now(), now(), 1)",
                new_id(),
            )
        await owner.close()
    finally:
        await made.drop()
