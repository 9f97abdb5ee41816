"""Rights of the service's roles that somebody took away: told with their SQL, and granted again."""

import asyncpg
import pytest

from adapters.postgres.migrations import inspection
from adapters.postgres.operations.pending_versions import PostgresPendingVersions
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable
from tests.conftest import NewDatabase

TAKEN = [
    ("REVOKE ALL ON users FROM tenantry_service", "lacks rights (SELECT, INSERT, UPDATE, DELETE) on users."),
    ("REVOKE INSERT ON row_history FROM tenantry_service", "lacks rights (SELECT, INSERT) on row_history."),
    ("REVOKE ALL ON alembic_version FROM tenantry_service", "may not read alembic_version."),
    ("REVOKE USAGE ON SCHEMA public FROM tenantry_service, tenantry_search, PUBLIC", "may not use the schema public."),
    ("DROP POLICY searched_rows ON products", "lacks its functions, its policy or its rights on products."),
    ("REVOKE SELECT (sku) ON products FROM tenantry_search", "on products."),
    ('ALTER FUNCTION tenantry_search."products.sku"(text, integer) OWNER TO CURRENT_USER', "on products."),
    ("REVOKE USAGE ON SCHEMA tenantry_search FROM tenantry_service", "may not use the schema tenantry_search."),
    ("ALTER SCHEMA tenantry_search OWNER TO CURRENT_USER", "is not of the role tenantry_search."),
]


@pytest.fixture
async def migrated(new_database: NewDatabase) -> str:
    return await new_database()


@pytest.mark.parametrize(("statement", "told"), TAKEN)
async def test_a_right_that_is_missing_is_told_and_granted_again(
    migrated: str, registry: Registry, statement: str, told: str
) -> None:
    assert await inspection.grant_rights(migrated, registry) == []
    connection = await asyncpg.connect(migrated)
    for mends_by_hand in (True, False):
        await connection.execute(statement)
        found = (await inspection.examined(migrated, registry)).gaps
        assert told in found[0].told
        if mends_by_hand:
            for gap in found:
                await connection.execute(gap.mend)
        else:
            assert await inspection.grant_rights(migrated, registry) == [gap.told for gap in found]
        assert (await inspection.examined(migrated, registry)).gaps == []
    await connection.close()


async def test_versions_of_tokens_that_may_not_be_read_are_away(migrated: str, registry: Registry) -> None:
    connection = await asyncpg.connect(migrated)
    await connection.execute("REVOKE ALL ON revocation_counts FROM tenantry_service")
    await connection.close()
    pending = PostgresPendingVersions(migrated)
    with pytest.raises(ServiceUnavailable):
        await pending.due(0.0, 1)
    with pytest.raises(ServiceUnavailable):
        await pending.published({"users": 1})
    await pending.close()
