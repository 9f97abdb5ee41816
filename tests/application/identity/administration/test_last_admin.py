"""A tenant keeps an active Admin, whichever way its administrators take the role, the membership or the account."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import pytest

from application.identity.administration.memberships import MemberForm
from application.identity.administration.roles import RoleForm
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import NewUserForm, RolesForm, UserForm
from application.identity.login.forms import SwitchForm
from domain.entities.declaration import Registry
from domain.errors import Conflict
from domain.identity.tokens import caller_of
from domain.scope import Caller
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService, open_service

Loss = Callable[[InMemoryService, Caller, UUID, UUID], Awaitable[object]]


async def _end_membership(service: InMemoryService, caller: Caller, tenant_id: UUID, user_id: UUID) -> None:
    await service.services.memberships.remove(caller, tenant_id, user_id, HERE)


async def _change_membership(service: InMemoryService, caller: Caller, tenant_id: UUID, user_id: UUID) -> object:
    form = MemberForm(user_id=user_id, roles=["Member"])
    return await service.services.memberships.save(caller, tenant_id, form, HERE)


async def _replace_roles(service: InMemoryService, caller: Caller, _: UUID, user_id: UUID) -> object:
    return await service.services.users.assign_roles(caller, user_id, RolesForm(role_names=["Member"]), HERE)


async def _change_roles(service: InMemoryService, caller: Caller, _: UUID, user_id: UUID) -> object:
    return await service.services.users.update(caller, user_id, UserForm(roles=[]), HERE)


async def _disable(service: InMemoryService, caller: Caller, _: UUID, user_id: UUID) -> object:
    return await service.services.users.update(caller, user_id, UserForm(is_active=False), HERE)


async def _delete(service: InMemoryService, caller: Caller, _: UUID, user_id: UUID) -> None:
    await service.services.users.delete(caller, user_id, HERE)


LOSSES: dict[str, Loss] = {
    "end the membership": _end_membership,
    "change the membership": _change_membership,
    "replace the roles": _replace_roles,
    "change the roles": _change_roles,
    "disable": _disable,
    "delete": _delete,
}


class Acme:
    """A tenant with the Admin Ada; ``roles`` of others are given as they are made."""

    def __init__(self, service: InMemoryService, root: Caller, tenant_id: UUID) -> None:
        self.service, self.root, self.tenant_id = service, root, tenant_id

    async def member(self, email: str, *roles: str) -> UUID:
        services = self.service.services
        made = await services.users.create(self.root, NewUserForm(email=email, password=PASSWORD, full_name="A"), HERE)
        form = MemberForm(user_id=made.id, roles=list(roles))
        await services.memberships.save(self.root, self.tenant_id, form, HERE)
        return made.id

    async def caller(self, email: str) -> Caller:
        return self.service.caller(await self.service.login(email=email))


@pytest.fixture
async def acme(registry: Registry) -> Acme:
    service = await open_service(registry)
    root = await service.admin()
    tenant = await service.services.tenants.create(root, NewTenantForm(name="Acme", identifier="acme"), HERE)
    return Acme(service, root, tenant.id)


@pytest.mark.promise(
    "security, rights: a tenant's last active Admin cannot be removed, deleted, disabled or lose that role, also when "
    "two of them leave at once; super-admins may"
)
@pytest.mark.parametrize("how", LOSSES)
async def test_the_last_admin_does_not_leave(acme: Acme, how: str) -> None:
    ada = await acme.member(EMAIL, "Admin")
    caller = await acme.caller(EMAIL)
    with pytest.raises(Conflict) as error:
        await LOSSES[how](acme.service, caller, acme.tenant_id, ada)
    assert "last active Admin" in error.value.message
    assert await acme.service.is_alive(caller)
    assert (await acme.service.services.users.get(caller, ada)).roles == ("Admin",)


@pytest.mark.promise(
    "security, rights: a tenant's last active Admin cannot be removed, deleted, disabled or lose that role, also when "
    "two of them leave at once; super-admins may"
)
@pytest.mark.parametrize("how", LOSSES)
async def test_with_another_active_admin_one_may_leave(acme: Acme, how: str) -> None:
    ada, bob = await acme.member(EMAIL, "Admin"), await acme.member("bob@example.com", "Admin")
    await acme.service.services.users.update(acme.root, bob, UserForm(is_active=False), HERE)
    caller = await acme.caller(EMAIL)
    with pytest.raises(Conflict):
        await LOSSES[how](acme.service, caller, acme.tenant_id, ada)
    await acme.service.services.users.update(acme.root, bob, UserForm(is_active=True), HERE)
    await LOSSES[how](acme.service, caller, acme.tenant_id, ada)
    with pytest.raises(Conflict):
        await LOSSES[how](acme.service, await acme.caller("bob@example.com"), acme.tenant_id, bob)


@pytest.mark.promise(
    "security, rights: a tenant's last active Admin cannot be removed, deleted, disabled or lose that role, also when "
    "two of them leave at once; super-admins may"
)
@pytest.mark.parametrize("how", LOSSES)
async def test_only_a_super_admin_can_remove_the_last_admin_of_a_tenant(acme: Acme, how: str) -> None:
    ada = await acme.member(EMAIL, "Admin")
    services = acme.service.services
    await services.roles.create(await acme.caller(EMAIL), RoleForm(name="Boss", permissions=["*"]), HERE)
    await acme.member("boss@example.com", "Boss")
    with pytest.raises(Conflict):
        await LOSSES[how](acme.service, await acme.caller("boss@example.com"), acme.tenant_id, ada)
    switched = await services.renewal.switch_tenant(acme.root, SwitchForm(tenant_id=acme.tenant_id), HERE)
    visiting = caller_of(services.tokens.read(switched.token, acme.service.clock.now()))
    await LOSSES[how](acme.service, visiting, acme.tenant_id, ada)


async def test_an_admin_by_a_system_role_counts_as_the_last_admin(acme: Acme) -> None:
    ada, bob = await acme.member(EMAIL, "Admin"), await acme.member("bob@example.com")
    services = acme.service.services
    await services.users.assign_roles(acme.root, bob, RolesForm(role_names=["Admin"]), HERE)
    await _end_membership(acme.service, await acme.caller(EMAIL), acme.tenant_id, ada)
    caller = await acme.caller("bob@example.com")
    await _replace_roles(acme.service, caller, acme.tenant_id, bob)
    with pytest.raises(Conflict):
        await _end_membership(acme.service, await acme.caller("bob@example.com"), acme.tenant_id, bob)
