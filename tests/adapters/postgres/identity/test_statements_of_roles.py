"""What the change of a role costs in a tenant with many members.

The audit trail of refusals while the database is away.
"""

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.system import SystemClock
from application.denied_operations import DeniedOperations
from application.identity.administration.roles import RoleChange
from domain.entities.declaration import Registry
from domain.scope import Client, EveryTenant
from entrypoints.assembly.use_cases import Services
from tests.adapters.postgres.identity.test_statements_of_a_login import HERE, CountedCalls, counted
from tests.adapters.postgres.identity.test_statements_of_a_login import Counted as CountedStatements
from tests.builders import caller, role, tenant
from tests.contracts.entities.writing.test_writing import ADA

__all__ = ["counted"]  # a fixture


@pytest.mark.promise("identity, administration: Logins, roles, Admins and pages beside 6,000 members")
async def test_a_change_that_no_token_carries_reads_no_holders(
    counted: tuple[Services, CountedStatements, CountedCalls],
) -> None:
    """They would be read under a lock that keeps everybody from giving the role."""
    services, statements, _ = counted
    home = tenant()
    own = role(home.id, permissions=("read:products",))
    async with statements.database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(home)
        await tx.roles.add(own)
    admin = caller(tenant_id=home.id, permissions=("*",))

    async def reads_holders(change: RoleChange) -> bool:
        statements.sent.clear()
        await services.roles.update(admin, own.id, change, HERE)
        return any(query.startswith("WITH places AS") for query in statements.sent)

    assert not await reads_holders(RoleChange(description="New", permissions=["read:products"]))
    assert await reads_holders(RoleChange(permissions=["read:reviews"]))
    assert await reads_holders(RoleChange(name="Renamed"))


async def test_a_refusal_that_could_not_be_audited_is_audited_at_the_next_attempt(
    postgres: PostgresDatabase, database_url: str, registry: Registry, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    database = PostgresDatabase(database_url, registry, CountingIds(), connections=1)
    trail, client = DeniedOperations(database, SystemClock()), Client(address="192.0.2.1", network="192.0.2.1")
    await trail.note(ADA, "users.update", 403, client)  # it is not open yet
    await database.open()
    for _ in range(2):
        await trail.note(ADA, "users.update", 403, client)
    await database.close()
    assert await owner.fetchval("SELECT count(*) FROM audit_events WHERE action = 'users.update.refused'") == 1
