"""``tenantry tenants``, ``users`` and ``roles``: the use cases behind the HTTP endpoints. Functions return the text."""

import secrets
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct, structs

from application.identity.administration.memberships import MemberForm
from application.identity.administration.tenant_forms import NewTenantForm, TenantForm
from application.identity.administration.user_forms import NewUserForm, RolesForm, UserItem
from domain.identity.identifiers import SYSTEM_IDENTIFIER
from domain.scope import SYSTEM_TENANT_ID
from entrypoints.assembly.use_cases import Services
from entrypoints.cli.operator import CLIENT, operator, operator_in, tenant_named
from entrypoints.cli.tables import listed
from entrypoints.terminal.answers import Answer

PAGE_SIZE = 100  # the most that a page of the API has

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Page(Protocol[T_co]):
    @property
    def items(self) -> Sequence[T_co]: ...
    @property
    def total_pages(self) -> int: ...


async def every_page(page: Callable[[Sequence[tuple[str, str]]], Awaitable[Page[T]]], size: int = PAGE_SIZE) -> list[T]:
    """The items of every page, asked for one page of ``size`` items after the other."""
    found: list[T] = []
    number = 1
    while True:
        answer = await page([("page", str(number)), ("pageSize", str(size))])
        found += answer.items
        if number >= answer.total_pages:
            return found
        number += 1


async def list_tenants(services: Services) -> Answer:
    tenants = await every_page(services.tenants.page)
    return listed(tenants, ("identifier", "name", "isActive", "createdAt", "id"))


async def create_tenant(services: Services, identifier: str, name: str | None) -> Answer:
    form = NewTenantForm(name=name or identifier, identifier=identifier)
    made = await services.tenants.create(operator(), form, CLIENT)
    return Answer(f"The tenant {made.identifier} has the id {made.id}.", [made])


async def set_tenant_active(services: Services, identifier: str, is_active: bool) -> str:
    tenant = await tenant_named(services, identifier)
    await services.tenants.update(operator(), tenant.id, TenantForm(is_active=is_active), CLIENT)
    data = {"id": tenant.id, "identifier": identifier, "isActive": is_active}
    if is_active:
        return Answer(f"The tenant {identifier} is open: its members can log in.", data)
    closed = f"The tenant {identifier} is closed: its tokens end now, and nobody can log in to it. No data is deleted."
    return Answer(closed, data)


class UserOfTenants(UserItem, rename="camel", kw_only=True):
    """A user in the list of all; ``roles`` are those of the whole service, the others are such as ``acme:Admin``."""

    tenant_roles: tuple[str, ...]


class UsersOfTenants(Struct, frozen=True):
    """A page of users, with the roles of their memberships."""

    items: list[UserOfTenants]
    total_pages: int


async def list_users(services: Services, identifier: str | None) -> Answer:
    # in ``system`` the operator sees the users of all tenants
    tenant = await tenant_named(services, identifier or SYSTEM_IDENTIFIER)
    caller = operator(tenant.id)
    if tenant.id != SYSTEM_TENANT_ID:
        users = await every_page(lambda parameters: services.users.page(caller, parameters))
        return listed(users, ("email", "fullName", "roles", "isActive", "createdAt", "id"))

    async def page(parameters: Sequence[tuple[str, str]]) -> UsersOfTenants:
        found = await services.users.page(caller, parameters)
        held = await services.operator_accounts.roles_in_tenants([user.id for user in found.items])
        told = [UserOfTenants(**structs.asdict(user), tenant_roles=held.get(user.id, ())) for user in found.items]
        return UsersOfTenants(told, found.total_pages)

    return listed(await every_page(page), ("email", "fullName", "roles", "tenantRoles", "isActive", "createdAt", "id"))


async def create_user(
    services: Services, email: str, name: str | None, tenant: str, roles: Sequence[str], password: str | None
) -> str:
    """Makes a user, who has to change the password at the first login; without ``password`` one is made and printed."""
    made = password or secrets.token_urlsafe(15)
    caller = await operator_in(services, tenant)
    form = NewUserForm(email=email, password=made, full_name=name or email.partition("@")[0], roles=list(roles))
    user = await services.users.create(caller, form, CLIENT)
    addition = "." if password else f", and is {made}"
    text = f"{email} is a member of {tenant} now. The password has to be changed at the first login{addition}"
    return Answer(text, {"user": user, "tenant": tenant, "generatedPassword": None if password else made})


async def set_password(services: Services, email: str, password: str | None) -> str:
    made = password or secrets.token_urlsafe(15)
    await services.operator_accounts.set_password(email, made, CLIENT)
    addition = "" if password else f" It is {made}"
    text = f"{email} has a new password, and all of its sessions have ended.{addition}"
    return Answer(text, {"email": email, "generatedPassword": None if password else made})


async def grant(services: Services, email: str, tenant: str, roles: Sequence[str]) -> str:
    """Makes the account a member of the tenant with these roles, which replace those it had there."""
    found = await tenant_named(services, tenant)
    user = await services.operator_accounts.find(email)
    caller = operator(found.id)
    # roles of ``system`` belong to the account and count in every tenant; others belong to its membership
    if found.id == SYSTEM_TENANT_ID:
        await services.users.assign_roles(caller, user.id, RolesForm(role_names=list(roles)), CLIENT)
    else:
        form = MemberForm(user_id=user.id, roles=list(roles))
        await services.memberships.save(caller, found.id, form, CLIENT)
    held = f"these roles in {tenant} now: {', '.join(roles)}" if roles else f"no roles in {tenant} now"
    text = f"{email} has {held}. Its tokens there are refreshed."
    return Answer(text, {"email": email, "tenant": tenant, "roles": list(roles)})


async def list_roles(services: Services, tenant: str) -> Answer:
    roles = (await services.roles.all(await operator_in(services, tenant))).items
    return listed(roles, ("name", "isSystem", "userCount", "permissions", "id"))
