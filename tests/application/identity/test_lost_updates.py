"""Changes of a role by two administrators at the same moment: neither is lost, and nothing taken away comes back."""

import asyncio

import asyncpg
from msgspec.structs import replace

from adapters.postgres.database import PostgresDatabase
from application.identity.administration.roles import RoleChange, RoleForm
from domain.entities.declaration import Registry
from domain.scope import EveryTenant
from tests.application.identity.test_social_claims import WAITING
from tests.application.identity.test_social_sign_in import open_service
from tests.application.in_memory_service import HERE
from tests.waiting import HUNG_AFTER


async def test_a_change_of_the_description_gives_no_permission_back(
    registry: Registry, postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    service = await open_service(registry, postgres)
    root, roles = await service.admin(), service.services.roles
    made = await roles.create(root, RoleForm(name="Clerk", permissions=["read:products", "delete:products"]), HERE)
    async with postgres.transaction(EveryTenant()) as tx:
        stored = await tx.roles.lock(made.id)
        assert stored is not None
        await tx.roles.save(replace(stored, permissions=("read:products",)))
        change = asyncio.create_task(roles.update(root, made.id, RoleChange(description="Sells"), HERE))
        async with asyncio.timeout(HUNG_AFTER):
            # Asked again and again: a server tells nobody that a statement has begun to wait.
            while not await owner.fetchval(WAITING):
                assert not change.done()
                await asyncio.sleep(0)
    changed = await change
    assert (changed.description, changed.permissions) == ("Sells", ("read:products",))
