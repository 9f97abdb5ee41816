"""What an index finds, as the role that the service runs as."""

import asyncpg
import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.plans import SCANS, plans_of
from domain.entities.declaration import Registry


@pytest.fixture
async def planned(
    postgres: PostgresDatabase, database_url: str, registry: Registry
) -> dict[str, dict[str, str | None]]:
    made = await plans_of(database_url, registry)
    return {plural: {plan.asked: plan.scans for plan in every} for plural, every in made.items()}


async def test_references_and_uniques_are_found_by_an_index(planned: dict[str, dict[str, str | None]]) -> None:
    assert planned["products"]["categoryId=…"] is None
    assert planned["products"]["sku.eq=…"] is None
    assert planned["reviews"]["productId=…"] is None
    assert planned["products"]["page 1"] is None


async def test_what_is_compared_without_case_is_not(planned: dict[str, dict[str, str | None]]) -> None:
    """Row-level security keeps functions that may leak from an index; see docs/decisions/0050."""
    assert planned["categories"]["name.eq=…"] == SCANS
    assert planned["products"]["search=word"] == SCANS


async def test_an_index_that_goes_is_missed(
    planned: dict[str, dict[str, str | None]],
    database_url: str,
    registry: Registry,
    owner: "asyncpg.Connection[asyncpg.Record]",
) -> None:
    assert planned["reviews"]["productId=…"] is None
    await owner.execute("DROP INDEX ix_reviews_product_id")
    try:
        every = {plan.asked: plan.scans for plan in (await plans_of(database_url, registry))["reviews"]}
    finally:
        await owner.execute("CREATE INDEX ix_reviews_product_id ON reviews (tenant_id, product_id)")
    assert every["productId=…"] == SCANS
