"""What the change of a role costs in a tenant with many members."""

import pytest

from application.identity.administration.roles import RoleChange
from domain.scope import EveryTenant
from entrypoints.assembly.use_cases import Services
from tests.adapters.postgres.test_statements_of_a_login import HERE, CountedCalls, counted
from tests.adapters.postgres.test_statements_of_a_login import Counted as CountedStatements
from tests.builders import caller, role, tenant

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
