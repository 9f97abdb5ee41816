"""Searches by an index: what its functions may do, whose rows they find, and what happens without it."""

from collections.abc import AsyncIterator, Sequence
from urllib.parse import parse_qsl
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.connection.search_indexes import searches_missed
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.narrowing import Searches, SearchLimits, narrowing
from adapters.postgres.migrations.inspection import differences
from adapters.postgres.migrations.migrate import upgrade
from adapters.postgres.schema.row_security import ROLE
from adapters.postgres.schema.search import MOST_FOUND
from application.ports.entities.records import Act, NewRow, RowPage
from domain.entities.declaration import Registry
from domain.entities.kinds import Kind
from domain.entities.query.kinds import QUERY_KINDS
from domain.entities.query.query import Operator
from domain.entities.query.read_query import read_query
from domain.scope import EveryTenant, OneTenant, Scope
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase
from tests.servers.databases import named

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
ACT = Act(by=None, at=NOW)
FIELDS = ("name", "sku", "description")
ALWAYS = SearchLimits(sampled=0, frequent=1, most=100)
FIND = """SELECT tenantry_search."products.name"($1, $2)"""


@pytest.fixture
async def always(postgres: PostgresDatabase, database_url: str, registry: Registry) -> AsyncIterator[PostgresDatabase]:
    """A service that asks the index for every word, however few rows there are."""
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=2, search_limits=ALWAYS)
    await database.open()
    yield database
    await database.close()


async def stored(database: PostgresDatabase, scope: OneTenant, registry: Registry, *names: str) -> list[UUID]:
    blank: dict[str, object] = {**dict.fromkeys(registry["products"].names), "price": 1, "stock": 0, "status": "draft"}
    rows = [NewRow(new_id(), {**blank, "name": name, "sku": f"S-{n}"}) for n, name in enumerate(names)]
    async with database.transaction(scope) as tx:
        await tx.records.add(registry["products"], rows, ACT)
    return [row.id for row in rows]


async def asked(database: PostgresDatabase, scope: Scope, registry: Registry, parameters: str) -> RowPage:
    query = read_query(registry["products"], registry, frozenset(), parse_qsl(parameters))
    async with database.read_only(scope) as read:
        return await read.records.page(registry["products"], query)


def names_on(page: RowPage) -> list[str]:
    return [row["name"] for row in msgspec.json.decode(page.items)]


async def found(database: PostgresDatabase, scope: Scope, pattern: str, most: int = 100) -> Sequence[UUID] | None:
    async with database.read_only(scope) as read:
        ids: Sequence[UUID] | None = await read.connection.fetchval(FIND, pattern, most)
    return ids


async def test_a_search_function_returns_only_rows_of_the_tenant_of_its_connection(
    postgres: PostgresDatabase, registry: Registry
) -> None:
    here = await stored(postgres, HERE, registry, "red lamp", "chair")
    there = await stored(postgres, THERE, registry, "red lamp", "blue lamp")
    assert await found(postgres, HERE, "%lamp%") == here[:1]
    assert sorted(await found(postgres, THERE, "%lamp%") or ()) == sorted(there)
    assert await found(postgres, OneTenant(new_id()), "%lamp%") == []


async def test_a_function_finds_nothing_for_every_tenant_and_without_a_scope(
    postgres: PostgresDatabase, registry: Registry, database_url: str
) -> None:
    await stored(postgres, HERE, registry, "red lamp")
    assert await found(postgres, EveryTenant(), "%lamp%") is None
    connection = await asyncpg.connect(database_url, server_settings={"role": ROLE})
    try:
        assert await connection.fetchval(FIND, "%lamp%", 10) is None
        await connection.execute("SET tenantry.scope = ''")
        assert await connection.fetchval(FIND, "%lamp%", 10) is None
    finally:
        await connection.close()


@pytest.mark.parametrize(("most", "is_found"), [(-1, False), (0, False), (1, False), (2, True), (2**31 - 1, True)])
async def test_a_search_function_returns_nothing_above_its_row_limit(
    postgres: PostgresDatabase, registry: Registry, most: int, is_found: bool
) -> None:
    await stored(postgres, HERE, registry, "red lamp", "blue lamp", "chair")
    assert (await found(postgres, HERE, "%lamp%", most) is not None) is is_found


@pytest.mark.parametrize(
    "pattern",
    ["%'; DROP TABLE products; --%", "%", "", "\\\\", "%lamp%' OR true --", "\\_amp%", "%\u00e9\u00e9\u00e9%"],
)
async def test_a_pattern_is_a_value_and_nothing_else(
    postgres: PostgresDatabase, registry: Registry, pattern: str
) -> None:
    here = await stored(postgres, HERE, registry, "red lamp")
    await stored(postgres, THERE, registry, "red lamp")
    assert await found(postgres, HERE, pattern) == (here if pattern == "%" else [])


FUNCTIONS = """
SELECT p.proname, p.proconfig, prosrc,
p.prosecdef AND p.provolatile = 's' AND r.rolname = 'tenantry_search' AS is_owned,
pg_get_function_arguments(p.oid) AS taken,
has_function_privilege('public', p.oid, 'EXECUTE') AS is_public,
has_function_privilege('tenantry_service', p.oid, 'EXECUTE') AS is_served
FROM pg_proc p JOIN pg_roles r ON r.oid = proowner
WHERE pronamespace = 'tenantry_search'::regnamespace ORDER BY proname"""
TEXT = """
DECLARE
    "the tenant" uuid := nullif(nullif(current_setting('tenantry.scope', true), ''), 'every')::uuid;
    "the ids" uuid[];
BEGIN
    IF "the tenant" IS NULL THEN
        RETURN NULL;
    END IF;
    "the bound" := least(greatest("the bound", 0), 10000);
    SELECT array_agg(f.id) INTO "the ids" FROM (
        SELECT t.id FROM public.products t
        WHERE t.tenant_id = "the tenant" AND lower(t.name COLLATE "default") LIKE "the pattern" LIMIT "the bound" + 1
    ) f;
    IF cardinality("the ids") > "the bound" THEN
        RETURN NULL;
    END IF;
    RETURN coalesce("the ids", '{}');
END
"""


async def test_the_search_functions_equal_the_reviewed_ones(owner: "asyncpg.Connection[asyncpg.Record]") -> None:
    rows = await owner.fetch(FUNCTIONS)
    assert [row["proname"] for row in rows] == ["categories.name", *(f"products.{field}" for field in sorted(FIELDS))]
    assert next(row["prosrc"] for row in rows if row["proname"] == "products.name") == TEXT
    assert MOST_FOUND == 10_000
    for row in rows:
        assert (row["is_owned"], row["is_public"], row["is_served"]) == (True, False, True)
        assert row["proconfig"][0] == "search_path=pg_catalog, pg_temp"
        assert row["taken"] == '"the pattern" text, "the bound" integer'
        table, _, field = row["proname"].partition(".")
        assert row["prosrc"] == TEXT.replace("public.products", f"public.{table}").replace("t.name", f"t.{field}")


async def test_the_role_of_the_functions_has_few_rights(owner: "asyncpg.Connection[asyncpg.Record]") -> None:
    rights = "SELECT rolsuper OR rolbypassrls OR rolcanlogin OR rolcreaterole FROM pg_roles WHERE rolname = $1"
    assert await owner.fetchval(rights, "tenantry_search") is False
    columns = """SELECT DISTINCT table_name || '.' || column_name FROM information_schema.column_privileges
    WHERE grantee = 'tenantry_search' AND privilege_type = 'SELECT' AND table_schema = 'public'"""
    seen = {row[0] for row in await owner.fetch(columns)}
    own = {"products": FIELDS, "categories": ("name",)}
    assert seen == {f"{table}.{name}" for table, names in own.items() for name in ("tenant_id", "id", *names)}
    written = """SELECT count(*) FROM information_schema.column_privileges
    WHERE grantee = 'tenantry_search' AND privilege_type <> 'SELECT' AND table_schema = 'public'"""
    assert await owner.fetchval(written) == 0
    assert await owner.fetchval("SELECT pg_has_role('tenantry_service', 'tenantry_search', 'MEMBER')") is False


async def test_row_level_security_blocks_the_search_index_but_not_the_search_function(
    postgres: PostgresDatabase, database_url: str
) -> None:
    """The reason for the functions: where this fails, the server has learnt it, and they can go."""
    text = """EXPLAIN SELECT FROM products WHERE lower(name COLLATE "default") LIKE '%lamp%'"""
    bounds = {}
    for role in (ROLE, "tenantry_search"):
        settings = {"role": role, "enable_seqscan": "off", "enable_indexscan": "off"}
        connection = await asyncpg.connect(database_url, server_settings=settings)
        try:
            lines = [line for (line,) in await connection.fetch(text)]
        finally:
            await connection.close()
        bounds[role] = any("Index Cond" in line and "~~" in line for line in lines)
    assert bounds == {ROLE: False, "tenantry_search": True}


@pytest.mark.promise("entities, contract: search")
@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ("search=LAMP", ["small lamp", "blue lamp", "red lamp"]),
        ("search=lamp&sort=name", ["blue lamp", "red lamp", "small lamp"]),
        ("search=lamp red", ["red lamp"]),
        ("search=la", ["small lamp", "blue lamp", "red lamp"]),
        ("search=5%25_x", ["odd 5%_x \\ name"]),
        ("search=odd \\ name", ["odd 5%_x \\ name"]),
        ("search=S-2", ["small lamp"]),
        ("name.startsWith=blue", ["blue lamp"]),
        ("name.endsWith=LAMP&name.contains=red", ["red lamp"]),
        ("search=lamp&page=2&pageSize=2", ["red lamp"]),
        ("search=nothing", []),
    ],
)
async def test_the_index_answers_as_the_rows_in_their_order_do(
    postgres: PostgresDatabase, always: PostgresDatabase, registry: Registry, parameters: str, names: list[str]
) -> None:
    await stored(postgres, HERE, registry, "red lamp", "blue lamp", "small lamp", "odd 5%_x \\ name", "chair")
    await stored(postgres, THERE, registry, "red lamp")
    plain, by_index = [await asked(database, HERE, registry, parameters) for database in (postgres, always)]
    assert always.searches.indexed >= {("products", field) for field in FIELDS}
    assert names_on(by_index) == names_on(plain) == names
    assert by_index.total == plain.total


@pytest.mark.promise("entities, contract: search")
@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("zz", ["zz top"]),
        ("\u6771\u4eac", ["\u6771\u4eac\u306e\u673a"]),
        ("7", ["shelf 7"]),
        ("qq", []),
        ("top", ["zz top"]),
    ],
)
async def test_a_word_of_one_or_two_characters_finds_rows_beyond_the_sample_without_the_index(
    postgres: PostgresDatabase, database_url: str, registry: Registry, word: str, names: list[str]
) -> None:
    """The words of Chinese and Japanese have two characters."""
    await stored(postgres, HERE, registry, "\u6771\u4eac\u306e\u673a", "zz top", "shelf 7", "chair", "lamp", "desk")
    limits = SearchLimits(sampled=2, frequent=1, most=100)
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=1, search_limits=limits)
    await database.open()
    try:
        assert names_on(await asked(database, HERE, registry, f"search={word}")) == names
    finally:
        await database.close()


@pytest.mark.parametrize(
    "operator", [each for each in QUERY_KINDS[Kind.TEXT].operators if each is not Operator.IS_NULL]
)
async def test_every_operator_of_texts_answers_the_same_with_the_index(
    postgres: PostgresDatabase, always: PostgresDatabase, registry: Registry, operator: Operator
) -> None:
    await stored(postgres, HERE, registry, "lamp", "red lamp", "lamp shade", "chair", "table")
    parameters = f"name.{operator.value}=lamp"
    plain, by_index = [await asked(database, HERE, registry, parameters) for database in (postgres, always)]
    assert names_on(by_index) == names_on(plain) != []


async def test_deleted_rows_are_found_where_they_are_asked_for(
    postgres: PostgresDatabase, always: PostgresDatabase, registry: Registry
) -> None:
    ids = await stored(postgres, HERE, registry, "red lamp", "blue lamp")
    async with postgres.transaction(HERE) as tx:
        await tx.records.remove(registry["products"], ids[:1], ACT, None)
    assert names_on(await asked(always, HERE, registry, "search=lamp")) == ["blue lamp"]
    assert (await asked(always, HERE, registry, "search=lamp&includeDeleted=true")).total == 2
    assert (await asked(always, EveryTenant(), registry, "search=lamp")).total == 1


async def test_a_frequent_word_is_read_in_the_order_of_the_page(
    postgres: PostgresDatabase, database_url: str, registry: Registry, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    """The functions are called for the rare word, and for a total, as the server counts their calls."""
    await stored(postgres, HERE, registry, *(f"lamp {n}" for n in range(8)), "rare one")
    limits = SearchLimits(sampled=4, frequent=2, most=100)
    await owner.execute(f"ALTER DATABASE {named(database_url)} SET track_functions = 'all'")
    for parameters, is_called in (
        ("search=lamp&count=none", False),
        ("search=rare&count=none", True),
        ("search=lamp&sort=name&count=none", False),
        ("search=lamp", True),
    ):
        database = PostgresDatabase(database_url, registry, CountingIds(), connections=1, search_limits=limits)
        await database.open()
        try:
            before = await calls(owner)
            assert names_on(await asked(database, HERE, registry, parameters))
        finally:
            await database.close()
        assert (await calls(owner) > before) is is_called


async def calls(owner: "asyncpg.Connection[asyncpg.Record]") -> int:
    await owner.execute("SELECT pg_stat_clear_snapshot()")
    counted = "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE schemaname = 'tenantry_search'"
    return int(await owner.fetchval(counted))


def test_all_texts_of_three_letters_are_looked_up_the_longest_first(registry: Registry) -> None:
    model = registry["products"]
    searches = Searches(frozenset((model.table, field) for field in FIELDS))

    def chosen(parameters: str, known: Searches = searches) -> list[tuple[tuple[str, ...], str]]:
        found = narrowing(model, read_query(model, registry, frozenset(), parse_qsl(parameters)), known)
        return [] if found is None else [(each.fields, each.parameter) for each in found.lookups]

    assert chosen("search=red lamps of&count=none") == [(FIELDS, "word_1"), (FIELDS, "word_0")]
    assert chosen("search=red&name.contains=lamp&stock=1") == [(("name",), "where_0"), (FIELDS, "word_0")]
    assert chosen("search=re") == []
    assert chosen("search=a-b-c&name.contains=%25%25%25") == []
    assert chosen("category.name.contains=lamp") == []
    assert chosen("search=lamp", Searches(frozenset({("products", "name")}))) == []
    assert chosen("search=lamp", Searches()) == []


@pytest.fixture
async def without_extensions(empty_database: NewDatabase) -> AsyncIterator[str]:
    """A database whose owner may make no extension, as on servers that have none."""
    name = f"tenantry_poor_{uuid4().hex[:8]}"
    url = await empty_database()
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'poor' IN ROLE {ROLE}")
        await connection.execute(f"GRANT ALL ON SCHEMA public TO {name}")
        await connection.execute(f"REVOKE CREATE ON DATABASE {named(url)} FROM PUBLIC")
        host = await connection.fetchval("SELECT coalesce(host(inet_server_addr()), '')")
    finally:
        await connection.close()
    place = url.partition("@")[2] if "@" in url else url.partition("://")[2]
    assert host is not None
    yield f"postgresql://{name}:poor@{place}"
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")
    finally:
        await connection.close()


@pytest.mark.promise("entities, contract: search")
async def test_without_the_extensions_searches_read_rows_in_their_order(
    postgres: PostgresDatabase, without_extensions: str, registry: Registry
) -> None:
    assert await upgrade(without_extensions, registry) == []
    missed = await searches_missed(without_extensions, registry)
    assert missed == ["categories.name", *(f"products.{field}" for field in FIELDS)]
    assert await differences(without_extensions, registry) == []
    database = PostgresDatabase(without_extensions, registry, CountingIds(), connections=1, search_limits=ALWAYS)
    await database.open()
    try:
        await stored(database, HERE, registry, "red lamp", "chair")
        assert names_on(await asked(database, HERE, registry, "search=lamp")) == ["red lamp"]
        assert database.searches.indexed == frozenset()
    finally:
        await database.close()


async def test_a_database_that_gets_the_index_says_nothing(new_database: NewDatabase, registry: Registry) -> None:
    assert await searches_missed(await new_database(), registry) == []
