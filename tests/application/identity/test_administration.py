"""What administrators send: what is left out stays, what means nothing is refused, what changes bites."""

from typing import Any

import msgspec
import pytest

from application.identity.administration.memberships import MemberForm
from application.identity.administration.roles import PermissionForm, RoleChange, RoleForm
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import NewUserForm, UserForm
from domain.entities.declaration import Registry
from domain.errors import Contended, Error, ValidationError, retried
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, Home, open_home


@pytest.fixture
async def home(registry: Registry) -> Home:
    return await open_home(registry)


def fields(error: pytest.ExceptionInfo[Error]) -> list[str]:
    return [one.field for one in error.value.fields]


async def test_what_a_change_of_a_role_leaves_out_stays(home: Home) -> None:
    root, roles = await home.admin(), home.services.roles
    form = RoleForm(name="Clerk", description="Keeps the books", permissions=["read:users"])
    made = await roles.create(root, form, HERE)
    renamed = await roles.update(root, made.id, RoleChange(name="Bookkeeper"), HERE)
    assert (renamed.name, renamed.description, renamed.permissions) == ("Bookkeeper", form.description, ("read:users",))
    emptied = await roles.update(root, made.id, RoleChange(permissions=[]), HERE)
    assert (emptied.name, emptied.permissions) == ("Bookkeeper", ())


@pytest.mark.parametrize("name", ["", "   ", " Clerk", "Clerk\n"])
async def test_a_role_has_a_name_that_can_be_seen(home: Home, name: str) -> None:
    root, roles = await home.admin(), home.services.roles
    with pytest.raises(ValidationError) as error:
        await roles.create(root, RoleForm(name=name), HERE)
    assert set(fields(error)) == {"name"}
    made = await roles.create(root, RoleForm(name="Clerk"), HERE)
    with pytest.raises(ValidationError):
        await roles.update(root, made.id, RoleChange(name=name), HERE)


async def test_a_permission_is_described_in_short(home: Home) -> None:
    form = PermissionForm(name="paint:walls", description="x" * 1_001, category="x" * 101)
    with pytest.raises(ValidationError) as error:
        await home.services.roles.create_permission(await home.admin(), form, HERE)
    assert fields(error) == ["description", "category"]


async def test_holders_as_such_are_counted_in_system(home: Home) -> None:
    root = await home.admin()
    counts = {one.name: one.user_count for one in (await home.services.roles.all(root)).items}
    assert counts["SuperAdmin"] == 1


async def test_the_mark_of_the_default_is_moved_and_never_taken_away(home: Home) -> None:
    root, services = await home.admin(), home.services
    tenant = await services.tenants.create(root, NewTenantForm(name="Acme", identifier="acme"), HERE)
    user = await services.users.create(root, NewUserForm(email=EMAIL, password=PASSWORD, full_name="Ada"), HERE)
    form = MemberForm(user_id=user.id, is_default=False)
    first, _ = await services.memberships.save(root, tenant.id, form, HERE)
    assert first.is_default
    with pytest.raises(ValidationError) as error:
        await services.memberships.save(root, tenant.id, form, HERE)
    assert fields(error) == ["isDefault"]


async def test_a_token_with_the_old_address_is_stale(home: Home) -> None:
    made = await home.holder()
    caller, root = home.caller(await home.login()), await home.admin()
    await home.services.users.update(root, made.id, UserForm(full_name="Ada Lovelace"), HERE)
    assert await home.is_alive(caller)
    await home.services.users.update(root, made.id, UserForm(email="new@example.com"), HERE)
    assert not await home.is_alive(caller)


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
async def test_settings_that_mean_nothing_are_refused(home: Home, settings: dict[str, Any], field: str) -> None:
    body = {"name": "Acme", "identifier": "acme", "settings": settings}
    with pytest.raises(ValidationError) as error:
        await home.services.tenants.create(await home.admin(), msgspec.convert(body, NewTenantForm), HERE)
    assert fields(error) == [field]


async def test_settings_that_say_the_same_twice_are_taken(home: Home) -> None:
    settings = {"timezone": "Europe/Berlin", "features": ["b", "a"], "enabledFeatures": ["a", "b"]}
    body = {"name": "Acme", "identifier": "acme", "settings": settings}
    made = await home.services.tenants.create(await home.admin(), msgspec.convert(body, NewTenantForm), HERE)
    assert (made.settings.timezone, made.settings.enabled_features) == ("Europe/Berlin", ("a", "b"))


@pytest.mark.parametrize(("losses", "is_done"), [(0, True), (4, True), (5, False)])
async def test_what_lost_against_others_is_tried_again_a_few_times(losses: int, is_done: bool) -> None:
    left = [Contended()] * losses

    @retried
    async def attempt() -> bool:
        if left:
            raise left.pop()
        return True

    if is_done:
        assert await attempt()
    else:
        with pytest.raises(Contended):
            await attempt()
