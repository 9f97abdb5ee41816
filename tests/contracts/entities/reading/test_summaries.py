"""Summaries: the rows that a scope may see, related rows, periods, and the time limit."""

from datetime import UTC, date, datetime
from decimal import Decimal
from urllib.parse import parse_qsl

import asyncpg
import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.summaries import (
    REMEMBERED,
    PostgresSummaries,
    shape_of,
    summary_statement,
)
from application.entities.reading.summaries import Summarized, Summarizing
from application.ports.entities.summaries import Group
from application.ports.whole_database import WholeDatabase
from application.primary_reads import PrimaryReads
from domain.entities.declaration import NOTHING_HIDDEN, Hidden, Registry
from domain.entities.query.read_summary import read_summary
from domain.errors import UnprocessableEntity
from domain.identity.users import TenantSettings
from domain.scope import EveryTenant, OneTenant, Scope
from tests.builders import tenant
from tests.contracts.entities.reading.test_records_reading import HERE, THERE, Shop
from tests.examples import examples

BERLIN = "Europe/Berlin"


async def groups(shop: Shop, asked: str, scope: Scope = HERE, hidden: Hidden = NOTHING_HIDDEN) -> list[Group]:
    product = shop.registry["products"]
    summary = read_summary(product, shop.registry, hidden, parse_qsl(asked))
    async with shop.database.transaction(scope) as tx:
        return await tx.summaries.groups(product, summary, BERLIN)


@pytest.fixture
def shop(database: WholeDatabase, registry: Registry) -> Shop:
    return Shop(database, registry)


@pytest.mark.promise("GET /api/{entities}/summary: exact sums, averages with four more digits, and a group for null")
async def test_groups_of_related_rows(shop: Shop) -> None:
    category = {"description": None}
    names = ("Lights", "Cups", "Spare")
    lights, cups, spare = await shop.add("categories", [{**category, "name": name} for name in names])
    prices = [(lights, "0.10"), (lights, "0.20"), (lights, "0.20"), (cups, "1.00"), (None, "7.00")]
    await shop.products(*({"category_id": row_id, "price": Decimal(price)} for row_id, price in prices))
    asked = "group=category.name&measures=count,sum:price,avg:price,min:price,max:price,distinct:price"
    assert await groups(shop, asked) == [
        Group(("Cups",), (1, Decimal(1), Decimal(1), Decimal(1), Decimal(1), 1)),
        Group(("Lights",), (3, Decimal("0.50"), Decimal("0.166667"), Decimal("0.10"), Decimal("0.20"), 2)),
        Group((None,), (1, Decimal(7), Decimal(7), Decimal(7), Decimal(7), 1)),
    ]
    assert [group.key for group in await groups(shop, f"{asked}&sort=sum:price:desc")] == [
        (None,),
        ("Cups",),
        ("Lights",),
    ]
    await shop.remove("categories", spare)
    assert [group.key for group in await groups(shop, "group=category.name")] == [("Cups",), ("Lights",), (None,)]


@pytest.mark.promise("security, isolation: a summary counts only rows of its tenant, and deleted rows on request")
async def test_rows_of_other_tenants_and_deleted_rows_do_not_count(shop: Shop) -> None:
    first, _ = await shop.products({}, {})
    await shop.products({"price": Decimal(1_000)}, scope=THERE)
    await shop.remove("products", first)
    assert await groups(shop, "measures=count,max:price") == [Group((), (1, Decimal("9.9")))]
    assert await groups(shop, "includeDeleted=true") == [Group((), (2,))]
    assert await groups(shop, "", scope=EveryTenant()) == [Group((), (2,))]


async def test_without_rows_there_is_one_group_only_without_grouping(shop: Shop) -> None:
    measures = "measures=count,sum:price,avg:stock,max:createdAt,distinct:name"
    assert await groups(shop, measures) == [Group((), (0, None, None, None, 0))]
    assert await groups(shop, f"{measures}&group=status") == []


async def test_filters_and_search_are_those_of_the_list(shop: Shop) -> None:
    rows = await shop.products({"name": "Lamp"}, {"name": "Lamp", "price": Decimal(3)}, {"name": "Cup"})
    await shop.reviews(rows[0], 5, 5)
    assert await groups(shop, "search=lamp&maxPrice=5") == [Group((), (1,))]
    assert await groups(shop, "reviews.rating=5&measures=count,sum:price") == [Group((), (1, Decimal("9.9")))]


async def test_periods_are_those_of_the_time_zone(shop: Shop) -> None:
    moments = (datetime(2026, 10, 31, 23, 30, tzinfo=UTC), datetime(2026, 10, 31, 22, 30, tzinfo=UTC), None)
    await shop.products(*({"released_at": moment} for moment in moments))
    found = await groups(shop, "group=releasedAt:month")
    assert found == [
        Group((date(2026, 10, 1),), (1,)),
        Group((date(2026, 11, 1),), (1,)),
        Group((None,), (1,)),
    ]


async def test_hidden_search_fields_find_no_rows(shop: Shop) -> None:
    await shop.products({"name": "Lamp", "sku": "CUP"})
    hidden: Hidden = frozenset({("products", "name")})
    assert await groups(shop, "search=lamp", hidden=hidden) == [Group((), (0,))]


async def summarized(database: WholeDatabase, registry: Registry, scope: Scope) -> Summarized:
    product = registry["products"]
    summary = read_summary(product, registry, NOTHING_HIDDEN, {"group": "status,name", "limit": "1"}.items())
    return await Summarizing(PrimaryReads(database)).summarize(scope, product, summary)


@pytest.mark.promise("GET /api/{entities}/summary: days and longer periods are those of the tenant's time zone")
async def test_the_time_zone_is_the_tenants(database: WholeDatabase, registry: Registry) -> None:
    here = tenant(settings=TenantSettings(timezone=BERLIN))
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(here)
    scope = OneTenant(here.id)
    await Shop(database, registry).products({"name": "A"}, {"name": "B"}, scope=scope)
    found = await summarized(database, registry, scope)
    assert (found.zone, found.is_truncated, [group.key for group in found.groups]) == (BERLIN, True, [("draft", "A")])
    assert (await summarized(database, registry, EveryTenant())).zone == "UTC"


@pytest.mark.promise("GET /api/{entities}/summary: 422 for a sum out of range and for a slow summary")
async def test_a_summary_that_takes_too_long_is_refused(
    postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]", registry: Registry
) -> None:
    """It waits for a lock longer than its limit."""
    product = registry["products"]
    summary = read_summary(product, registry, NOTHING_HIDDEN, ())
    async with owner.transaction():
        await owner.execute("LOCK TABLE products IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(UnprocessableEntity, match="narrow the filters"):
            async with postgres.transaction(HERE) as tx:
                await PostgresSummaries(tx.connection, registry, HERE, patience=0.05).groups(product, summary, "UTC")
    async with postgres.transaction(HERE) as tx:
        assert await tx.connection.fetchval("SHOW statement_timeout") == "0"
        assert await tx.summaries.groups(product, summary, "UTC") == [Group((), (0,))]


async def test_statements_of_ten_thousand_shapes_are_not_all_kept(registry: Registry) -> None:
    """Each shape costs memory, so only those last used are cached."""
    product = registry["products"]
    for number in range(examples(REMEMBERED + 20)):
        names = [field.wire for field in product.fields if field.wire != "id"]
        chosen = ",".join(f"distinct:{name}" for place, name in enumerate(names) if number + 1 >> place & 1)
        summary = read_summary(product, registry, NOTHING_HIDDEN, {"measures": chosen}.items())
        summary_statement(registry, shape_of(product, HERE, summary))
    assert summary_statement.cache_info().currsize <= REMEMBERED
