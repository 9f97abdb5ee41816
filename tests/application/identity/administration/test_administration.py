"""Administration: missing fields keep their value, unknown ones are refused, changes revoke tokens.

Changes of a role by two administrators at the same moment: neither is lost, and nothing taken away comes back.
"""

import asyncio
from typing import Any

import asyncpg
import msgspec
import pytest
from msgspec.structs import replace

from adapters.postgres.database import PostgresDatabase
from application.identity.administration.memberships import MemberForm
from application.identity.administration.roles import PermissionForm, RoleChange, RoleForm
from application.identity.administration.tenant_forms import NewTenantForm, TenantForm
from application.identity.administration.user_forms import NewUserForm, UserForm
from application.retry import retry_on_conflict
from domain.entities.declaration import Registry
from domain.errors import Error, Forbidden, SerializationConflict, ValidationError
from domain.identity.users import Role
from domain.scope import GRANTS_BYTES, EveryTenant
from tests.application.identity.social.test_social_claims import WAITING
from tests.application.identity.social.test_social_sign_in import open_service as open_service_of_lost_updates
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService, open_service
from tests.builders import new_id
from tests.waiting import HUNG_AFTER


@pytest.fixture
async def service(registry: Registry) -> InMemoryService:
    return await open_service(registry)


def fields(error: pytest.ExceptionInfo[Error]) -> list[str]:
    return [detail.field for detail in error.value.fields]


@pytest.mark.promise(
    "security, names: an old name of a role, a tenant or a user that is sent back unchanged is not refused"
)
async def test_stored_names_that_break_newer_rules_can_be_sent_back(service: InMemoryService) -> None:
    root, old = await service.admin(), "Acme\u202e"
    role = await service.services.roles.create(root, RoleForm(name="Clerk"), HERE)
    tenant = await service.services.tenants.create(root, NewTenantForm(name="Acme", identifier="acme"), HERE)
    new = NewUserForm(email="old@example.com", password=PASSWORD, full_name="Old")
    user = await service.services.users.create(root, new, HERE)
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        stored = await tx.roles.lock(role.id)
        state = await tx.users.state(user.id)
        assert stored is not None
        assert state is not None
        await tx.roles.save(replace(stored, name="Adm1n"))
        await tx.tenants.save(replace(tenant, name=old))
        await tx.users.save(replace(state.user, full_name=old), state.user)
    kept = await service.services.roles.update(root, role.id, RoleChange(name="Adm1n", description="New"), HERE)
    assert (kept.name, kept.description) == ("Adm1n", "New")
    assert (await service.services.tenants.update(root, tenant.id, TenantForm(name=old, domain="x"), HERE)).name == old
    assert (await service.services.users.update(root, user.id, UserForm(full_name=old), HERE)).full_name == old
    for change in (RoleChange(name="Adm1n\u200b"), RoleChange(name="Adm1n", permissions=["Nonsense"])):
        with pytest.raises(ValidationError):
            await service.services.roles.update(root, role.id, change, HERE)
    with pytest.raises(ValidationError):
        await service.services.tenants.update(root, tenant.id, TenantForm(name=f"{old}!"), HERE)
    with pytest.raises(ValidationError):
        await service.services.users.update(root, user.id, UserForm(full_name=f"{old}!"), HERE)


async def test_fields_missing_from_a_role_change_are_not_changed(service: InMemoryService) -> None:
    root, roles = await service.admin(), service.services.roles
    form = RoleForm(name="Clerk", description="Keeps the books", permissions=["read:users"])
    made = await roles.create(root, form, HERE)
    renamed = await roles.update(root, made.id, RoleChange(name="Bookkeeper"), HERE)
    assert (renamed.name, renamed.description, renamed.permissions) == ("Bookkeeper", form.description, ("read:users",))
    emptied = await roles.update(root, made.id, RoleChange(permissions=[]), HERE)
    assert (emptied.name, emptied.permissions) == ("Bookkeeper", ())


@pytest.mark.parametrize("name", ["", "   ", " Clerk", "Clerk\n"])
async def test_a_role_has_a_name_that_can_be_seen(service: InMemoryService, name: str) -> None:
    root, roles = await service.admin(), service.services.roles
    with pytest.raises(ValidationError) as error:
        await roles.create(root, RoleForm(name=name), HERE)
    assert set(fields(error)) == {"name"}
    made = await roles.create(root, RoleForm(name="Clerk"), HERE)
    with pytest.raises(ValidationError):
        await roles.update(root, made.id, RoleChange(name=name), HERE)


@pytest.mark.promise(
    "security, names: a role's name holds no invisible, full-width or mixed letters, and resembles no system role"
)
@pytest.mark.parametrize("name", ["Adm1n", "Clerk\u200b", "Ｃlerk"])
async def test_a_role_has_a_name_that_shows_as_what_it_is(service: InMemoryService, name: str) -> None:
    root, roles = await service.admin(), service.services.roles
    with pytest.raises(ValidationError) as error:
        await roles.create(root, RoleForm(name=name), HERE)
    assert set(fields(error)) == {"name"}
    made = await roles.create(root, RoleForm(name="Clerk"), HERE)
    with pytest.raises(ValidationError):
        await roles.update(root, made.id, RoleChange(name=name), HERE)


@pytest.mark.promise("security, rights: Renaming a role needs what giving it needs")
async def test_renaming_a_role_needs_what_giving_it_needs(service: InMemoryService) -> None:
    root, roles = await service.admin(), service.services.roles
    made = await roles.create(root, RoleForm(name="Clerk", permissions=["delete:users"]), HERE)
    clerk = replace(root, permissions=("update:roles",))
    with pytest.raises(Forbidden):
        await roles.update(clerk, made.id, RoleChange(name="Reader"), HERE)
    assert (await roles.update(clerk, made.id, RoleChange(name="Clerk", description="x"), HERE)).description == "x"
    may = replace(root, permissions=("update:roles", "delete:users"))
    assert (await roles.update(may, made.id, RoleChange(name="Reader"), HERE)).name == "Reader"


@pytest.mark.promise("security, names: New tenants get no identifier that speaks for the service or ends in a hyphen")
@pytest.mark.parametrize("identifier", ["api", "-acme", "acme-"])
async def test_a_tenant_gets_no_identifier_of_the_service(service: InMemoryService, identifier: str) -> None:
    root, tenants = await service.admin(), service.services.tenants
    with pytest.raises(ValidationError) as error:
        await tenants.create(root, NewTenantForm(name="A", identifier=identifier), HERE)
    assert set(fields(error)) == {"identifier"}
    made = await tenants.create(root, NewTenantForm(name="A", identifier="acme"), HERE)
    with pytest.raises(ValidationError):
        await tenants.update(root, made.id, TenantForm(identifier=identifier), HERE)
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        await tx.tenants.save(replace(made, identifier=identifier))
    kept = await tenants.update(root, made.id, TenantForm(name="B"), HERE)
    assert (kept.name, kept.identifier) == ("B", identifier)


async def test_a_permission_is_described_in_short(service: InMemoryService) -> None:
    form = PermissionForm(name="paint:walls", description="x" * 1_001, category="x" * 101)
    with pytest.raises(ValidationError) as error:
        await service.services.roles.create_permission(await service.admin(), form, HERE)
    assert fields(error) == ["description", "category"]


async def test_holders_as_such_are_counted_in_system(service: InMemoryService) -> None:
    root = await service.admin()
    counts = {role.name: role.user_count for role in (await service.services.roles.all(root)).items}
    assert counts["SuperAdmin"] == 1


async def test_the_mark_of_the_default_is_moved_and_never_taken_away(service: InMemoryService) -> None:
    root, services = await service.admin(), service.services
    tenant = await services.tenants.create(root, NewTenantForm(name="Acme", identifier="acme"), HERE)
    user = await services.users.create(root, NewUserForm(email=EMAIL, password=PASSWORD, full_name="Ada"), HERE)
    form = MemberForm(user_id=user.id, is_default=False)
    first, _ = await services.memberships.save(root, tenant.id, form, HERE)
    assert first.is_default
    with pytest.raises(ValidationError) as error:
        await services.memberships.save(root, tenant.id, form, HERE)
    assert fields(error) == ["isDefault"]


async def test_oversized_roles_do_not_prevent_changing_the_default_role(service: InMemoryService) -> None:
    root, services = await service.admin(), service.services
    tenant = await services.tenants.create(root, NewTenantForm(name="Acme", identifier="acme"), HERE)
    user = await services.users.create(root, NewUserForm(email=EMAIL, password=PASSWORD, full_name="Ada"), HERE)
    names = [f"read:entity-{number:04}" for number in range(GRANTS_BYTES // 15)]
    large = Role(id=new_id(), tenant_id=tenant.id, name="Large", permissions=tuple(names))
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        await tx.roles.add(large)
        await tx.memberships.save(user.id, tenant.id, [large.id], None, service.clock.now())
    kept, _ = await services.memberships.save(root, tenant.id, MemberForm(user_id=user.id, is_default=True), HERE)
    assert (kept.roles, kept.is_default) == (("Large",), True)
    with pytest.raises(ValidationError) as error:
        await services.memberships.save(root, tenant.id, MemberForm(user_id=user.id, roles=["Large"]), HERE)
    assert fields(error) == ["roles"]


async def test_a_token_with_the_old_address_is_stale(service: InMemoryService) -> None:
    made = await service.holder()
    caller, root = service.caller(await service.login()), await service.admin()
    await service.services.users.update(root, made.id, UserForm(full_name="Ada Lovelace"), HERE)
    assert await service.is_alive(caller)
    await service.services.users.update(root, made.id, UserForm(email="new@example.com"), HERE)
    assert not await service.is_alive(caller)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"timezone": "Mars/Olympus"}, "settings.timezone"),
    ({"timezone": "../etc/passwd"}, "settings.timezone"),
    ({"timezone": "Europe"}, "settings.timezone"),
    ({"timezone": ""}, "settings.timezone"),
    ({"features": ["a"], "enabledFeatures": ["b"]}, "settings.features"),
    ({"features": ["a", ""]}, "settings.features[1]"),
    ({"enabledFeatures": ["x" * 101]}, "settings.enabledFeatures[0]"),
]


@pytest.mark.parametrize(("settings", "field"), WRONG)
async def test_invalid_settings_are_refused(service: InMemoryService, settings: dict[str, Any], field: str) -> None:
    body = {"name": "Acme", "identifier": "acme", "settings": settings}
    with pytest.raises(ValidationError) as error:
        await service.services.tenants.create(await service.admin(), msgspec.convert(body, NewTenantForm), HERE)
    assert fields(error) == [field]


async def test_settings_that_say_the_same_twice_are_taken(service: InMemoryService) -> None:
    settings = {"timezone": "Europe/Berlin", "features": ["b", "a"], "enabledFeatures": ["a", "b"]}
    body = {"name": "Acme", "identifier": "acme", "settings": settings}
    made = await service.services.tenants.create(await service.admin(), msgspec.convert(body, NewTenantForm), HERE)
    assert (made.settings.timezone, made.settings.enabled_features) == ("Europe/Berlin", ("a", "b"))


@pytest.mark.parametrize(("losses", "is_done"), [(0, True), (4, True), (5, False)])
async def test_a_use_case_with_a_serialization_conflict_is_retried_a_few_times(losses: int, is_done: bool) -> None:
    left = [SerializationConflict()] * losses

    @retry_on_conflict
    async def attempt() -> bool:
        if left:
            raise left.pop()
        return True

    if is_done:
        assert await attempt()
    else:
        with pytest.raises(SerializationConflict):
            await attempt()


async def test_a_change_of_the_description_gives_no_permission_back(
    registry: Registry, postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    service = await open_service_of_lost_updates(registry, postgres)
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
