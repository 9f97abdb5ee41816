"""Statements built with Core: their texts, their parameters, and what is remembered of them.

Statements whose text never varies: one literal each, which fits the schema that the migrations make.
"""

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from urllib.parse import parse_qsl
from uuid import UUID

import asyncpg
import pytest
import pytest_asyncio
import sqlalchemy as sa
from msgspec import defstruct

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.select import get_shape, page_shape, statements_of, values_of
from adapters.postgres.entities.usual_statements import MOST_ENTITIES, compile_usual_statements
from adapters.postgres.entities.writing.bulk_statements import insert_rows, update_rows
from adapters.postgres.entities.writing.single_row_statements import insert_row, update_row
from adapters.postgres.schema import sql
from adapters.postgres.statements.compiled import compiled, constant, explained, parameter
from adapters.postgres.statements.rows import bind_type, without_case
from application.ports.entities.records import Act, Change, NewRow
from domain.entities.declaration import FieldModel, Registry
from domain.entities.kinds import Kind
from domain.entities.markers import Money, entity
from domain.entities.query.query import Query, View
from domain.entities.query.read_query import read_query
from domain.entities.registry import build_registry
from domain.scope import OneTenant
from tests.adapters.postgres.statements.sql_sources import Literal, literals, pieced, sources
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_records_writing import category, product

HERE = OneTenant(UUID(int=1))


@pytest_asyncio.fixture
async def connection(database_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    made = await asyncpg.connect(database_url)
    yield made
    await made.close()


@pytest.mark.parametrize("kind", Kind)
def test_a_parameter_has_the_bare_type_of_its_field(kind: Kind) -> None:
    """``$1::NUMERIC(14, 4)`` would round what was asked for, and a collation would contradict a comparison's own."""
    money = Money(precision=14, scale=4) if kind is Kind.DECIMAL else None
    field = FieldModel(name="field", wire="field", kind=kind, type=object, money=money)
    text = compiled(sa.select(parameter("value", bind_type(field)))).text
    assert text.startswith("SELECT $1::")
    assert "COLLATE" not in text
    assert "(" not in text


async def test_a_condition_on_money_is_not_rounded(
    connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    field = registry["products"].by_name["price"]
    statement = compiled(sa.select(constant(Decimal("1.50"), sa.Numeric()) == parameter("price", bind_type(field))))
    assert await connection.fetchval(statement.text, Decimal("1.495")) is False
    assert await connection.fetchval(statement.text, Decimal("1.5")) is True


@pytest.mark.promise(
    "declarations, names and sizes: Words of SQL (order, references, all, group, user, table, from) and pg_class are "
    "names of entities, fields and relations in every operation"
)
async def test_odd_names_are_quoted_and_constants_escaped(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    odd = sa.Table(
        "odd 'table\"", sa.MetaData(), sa.Column('a "b" :c $1 ?', sa.Text()), sa.Column("order", sa.Integer())
    )
    said = "it's 100% :x $2 \\ \\n"
    statement = compiled(sa.select(odd, constant(said)).where(odd.c[0] == parameter("value", sa.Text())))
    await connection.execute('CREATE TEMPORARY TABLE "odd \'table""" ("a ""b"" :c $1 ?" text, "order" int)')
    await connection.execute('INSERT INTO "odd \'table""" VALUES (\'x\', 1)')
    assert [tuple(row) for row in await connection.fetch(statement.text, "x")] == [("x", 1, said)]


def test_text_without_case_is_the_expression_of_the_unique_indexes() -> None:
    assert compiled(sa.select(without_case(sa.column("name")))).text.startswith(f"SELECT {sql.without_case('name')} ")


def test_a_parameter_that_is_used_twice_has_one_number() -> None:
    value = parameter("value", sa.Integer())
    statement = compiled(sa.select(value, parameter("other", sa.Integer()), value))
    assert statement.parameters == ("value", "other")
    assert statement.arguments({"other": 2, "unused": 3, "value": 1}) == [1, 2]


def test_an_explained_statement_has_the_same_parameters() -> None:
    statement = compiled(sa.select(parameter("value", sa.Integer())))
    assert explained(statement).text == f"EXPLAIN (FORMAT JSON) {statement.text}"
    assert explained(statement).parameters == statement.parameters


@pytest.mark.parametrize(
    "asked",
    [
        "name=Robert'); DROP TABLE products;--&sku.in=zebra,yak&search=quagga&page=77&pageSize=93",
        "name.contains=zebra%25&price.gte=4321.5&category.name=yak&reviews.author.ne=quagga",
    ],
)
def test_no_value_of_a_query_is_part_of_its_statement(registry: Registry, asked: str) -> None:
    query = _query(registry, asked)
    statement = statements_of(registry, registry["products"]).page(page_shape(HERE, query))
    for value in ("Robert", "zebra", "yak", "quagga", "77", "93", "4321", str(HERE.id)):
        assert value not in statement.text
    assert len(statement.arguments(values_of(HERE, query))) == len(statement.parameters)


def test_a_shape_is_compiled_once(registry: Registry) -> None:
    statements = statements_of(registry, registry["products"])
    first, second = (
        statements.page(page_shape(HERE, _query(registry, asked))) for asked in ("name=a&page=2", "name=b")
    )
    assert first is second


def test_the_usual_statements_are_compiled_before_they_are_asked_for(registry: Registry) -> None:
    compile_usual_statements(registry)
    for model in registry:
        statements = statements_of(registry, model)
        built = (statements.page.cache_info().misses, statements.get.cache_info().misses)
        statements.page(page_shape(HERE, read_query(model, registry, frozenset(), ())))
        statements.get(get_shape(HERE, View()))
        assert (statements.page.cache_info().misses, statements.get.cache_info().misses) == built


def test_a_start_compiles_only_the_statements_of_the_first_entities() -> None:
    """Each entity takes a start some 25 ms."""
    plurals = [f"boxes{number}" for number in range(MOST_ENTITIES + 1)]
    boxes = build_registry([entity(plural)(defstruct(plural.title(), [("name", str)])) for plural in plurals])
    compile_usual_statements(boxes)
    compiled = [statements_of(boxes, model).get.cache_info().currsize for model in boxes]
    assert compiled == [1] * MOST_ENTITIES + [0]


async def test_the_usual_writes_are_compiled_before_they_are_asked_for(
    postgres: PostgresDatabase, registry: Registry
) -> None:
    compile_usual_statements(registry)
    caches = (insert_row, update_row, insert_rows, update_rows)
    built = [cache.cache_info().misses for cache in caches]
    act, shelf, book = Act(by=None, at=NOW), new_id(), new_id()
    async with postgres.transaction(OneTenant(new_id())) as tx:
        await tx.records.add(registry["categories"], [NewRow(shelf, category("Books"))], act)
        await tx.records.add(registry["products"], [NewRow(book, product("A1", category_id=shelf))], act)
        await tx.records.change(registry["categories"], [Change(shelf, category("Others"))], act)
        await tx.records.change(registry["products"], [Change(book, product("A2"))], act)
    assert [cache.cache_info().misses for cache in caches] == built


def _query(registry: Registry, asked: str) -> Query:
    return read_query(registry["products"], registry, frozenset(), parse_qsl(asked))


FOLDERS = ("",)
"""Folders of adapters/postgres in which no SQL is pieced together from strings; ``""`` stands for all of them."""

TEMPORARY = '"tenantry incoming"'
"""Table of a running import: statements on it cannot be prepared before the import has created it."""

SOURCES = sources(*FOLDERS)
OF_CITUS = "pg_dist_node"
LITERALS = [
    literal
    for path in SOURCES
    for literal in literals(path)
    if TEMPORARY not in literal.text and OF_CITUS not in literal.text
]


def test_the_statements_are_found() -> None:
    assert len(LITERALS) > 60


@pytest.mark.parametrize("literal", LITERALS, ids=str)
async def test_the_server_accepts_each_literal(owner: "asyncpg.Connection[asyncpg.Record]", literal: Literal) -> None:
    """Preparing looks up tables, columns, types and conflict targets, and runs nothing."""
    await owner.prepare(literal.text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_sql_is_pieced_together(path: Path) -> None:
    assert pieced(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        'f"SELECT {columns} FROM users"',
        'f"{select} WHERE id = $1"',
        '"SELECT id FROM " + table',
        'select + " ORDER BY id"',
        '"SELECT %s FROM users" % columns',
        '"SELECT {} FROM users".format(columns)',
        '" ORDER BY ".join(parts)',
        '_LIST.replace("x", y) or "FROM users".replace("users", table)',
        'text(f"{name} DESC")',
        'sa.text(name + " DESC")',
        'literal_column(f"lower({name})")',
        'literal_column(without_case("name"))',
        'connection.fetch(f"{statement}")',
        "connection.execute(statement + condition)",
        'connection.fetchval("".join(parts))',
        '" AND ".join(conditions)',
    ],
)
def test_pieces_are_found(source: str) -> None:
    assert pieced(source)


@pytest.mark.parametrize(
    "source",
    [
        '_ALL = "SELECT id FROM users"',
        "connection.fetch(_ALL, tenant_id)",
        "connection.fetch(STATEMENTS[rule], before)",
        "connection.fetch(statement.text, *statement.arguments(values))",
        'literal_column("last_login_at DESC")',
        "connection.execute(text(_LOCK))",
        'raise ValueError(f"must have {shortest} to {longest} characters")',
        '", ".join(names)',
    ],
)
def test_constants_and_core_pass(source: str) -> None:
    assert pieced(source) == []


@pytest.mark.parametrize("statement", ["SELECT nothing FROM users", "SELECT id FROM nowhere"])
async def test_a_renamed_column_fails(owner: "asyncpg.Connection[asyncpg.Record]", statement: str) -> None:
    with pytest.raises((asyncpg.UndefinedColumnError, asyncpg.UndefinedTableError)):
        await owner.prepare(statement)
