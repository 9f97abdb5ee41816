"""Permissions added by super-admins: listed by name, each once."""

import pytest

from application.ports.identity.users import PERMISSION_TAKEN
from application.ports.whole_database import WholeDatabase
from domain.errors import Conflict, FieldError
from domain.scope import EveryTenant, Permission
from tests.builders import new_id


async def test_permissions_are_listed_by_name_and_each_once(database: WholeDatabase) -> None:
    permission = Permission(id=new_id(), name="read:b", description="reads", category="shop")
    other = Permission(id=new_id(), name="read:a")
    async with database.transaction(EveryTenant()) as tx:
        for listed in (permission, other):
            await tx.permissions.add(listed)
        assert await tx.permissions.all() == [other, permission]
    with pytest.raises(Conflict) as error:
        async with database.transaction(EveryTenant()) as tx:
            await tx.permissions.add(Permission(id=new_id(), name="read:a"))
    assert error.value.fields == (FieldError("name", PERMISSION_TAKEN),)
