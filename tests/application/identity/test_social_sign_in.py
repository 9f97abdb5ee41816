"""Social logins: whose account it is; an account that others prepared is its owner's alone from then on."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from adapters.memory.identity.social import MemorySocialProviders
from application.identity.accounts import ChangeForm, EmailForm
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import NewUserForm, UserForm
from application.identity.login.forms import LoginResult, RefreshForm
from application.identity.login.social_sign_in import SocialForm
from application.ports.identity.social import SocialIdentity
from application.ports.passwords import Passwords
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import (
    AccountDisabled,
    AccountLocked,
    EmailNotConfirmed,
    Forbidden,
    InvalidCredentials,
    ServiceUnavailable,
    TokenInvalid,
    ValidationError,
)
from domain.identity.users import User
from domain.scope import EveryTenant
from entrypoints.composition import memory_world
from entrypoints.settings.settings import read_settings
from entrypoints.use_cases import assemble
from tests.application.in_memory_service import EMAIL, HERE, NEW, PASSWORD, Home
from tests.http.app import ADMIN, SETTINGS
from tests.http.app import PASSWORD as ADMIN_PASSWORD
from tests.keys import ensure_keys


def identity(provider: str, subject: str, email: str | None, verified: bool = True) -> SocialIdentity:
    return SocialIdentity(
        provider=provider, subject=subject, email=email, email_verified=verified, name="Ada of Elsewhere"
    )


TOKENS = {
    "ada": identity("google", "1", EMAIL),
    "ada at github": identity("github", "2", "ADA@example.com"),
    "ada, unverified": identity("facebook", "3", EMAIL, verified=False),
    "ada, later verified": identity("facebook", "3", EMAIL),
    "mallory": identity("facebook", "666", EMAIL, verified=False),
    "nameless": identity("github", "4", None, verified=False),
    "no address": identity("github", "5", "not an address"),
    "admin": identity("google", "6", ADMIN),
}


async def open_home(registry: Registry, database: WholeDatabase, **settings: str) -> Home:
    given = {f"TENANTRY_{name}": value for name, value in settings.items()}
    read = read_settings({**SETTINGS, **given})
    providers = MemorySocialProviders(["google", "github", "facebook"], TOKENS)
    world = replace(memory_world(read, registry), database=database, social=providers)
    services = assemble(world, read)
    await ensure_keys(services)
    await services.first_start.prepare(ADMIN, ADMIN_PASSWORD)
    return Home(services, world)


@pytest.fixture
async def home(registry: Registry, database: WholeDatabase) -> Home:
    return await open_home(registry, database)


async def enter(home: Home, token: str, **form: Any) -> LoginResult:
    provider = TOKENS[token].provider if token in TOKENS else "google"
    wanted = SocialForm(provider=provider, access_token=token, **form)
    result = await home.services.social_sign_in.login(wanted, HERE)
    assert isinstance(result, LoginResult)
    return result


async def account(home: Home, email: str = EMAIL) -> User | None:
    async with home.world.database.reading(EveryTenant()) as read:
        standing = await read.users.standing_by_email(email)
    return standing.user if standing else None


async def test_a_newcomer_gets_an_account_and_is_known_the_next_time(home: Home) -> None:
    first = await enter(home, "ada")
    again = await enter(home, "ada")
    assert (first.is_first_login, again.is_first_login) == (True, False)
    assert (first.is_global, first.requires_tenant_selection) == (True, False)
    user = await account(home)
    assert user is not None
    assert (user.full_name, user.email, user.password_hash) == ("Ada of Elsewhere", EMAIL, None)
    assert user.email_confirmed
    assert user.email_proved
    assert home.caller(first).user_id == home.caller(again).user_id == user.id
    assert await home.mails() == []


async def test_of_many_first_logins_at_once_one_makes_the_account(home: Home) -> None:
    results = await asyncio.gather(*(enter(home, "ada") for _ in range(8)))
    assert len({home.caller(one).user_id for one in results}) == 1


async def test_two_providers_that_vouch_for_one_address_open_one_account(home: Home) -> None:
    results = [await enter(home, token) for token in ("ada", "ada at github", "ada at github", "ada")]
    assert len({home.caller(one).user_id for one in results}) == 1


async def test_a_newcomer_joins_the_default_tenant(registry: Registry, database: WholeDatabase) -> None:
    home = await open_home(registry, database, DEFAULT_TENANT="acme")
    await home.services.tenants.create(await home.admin(), NewTenantForm(name="Acme", identifier="acme"), HERE)
    result = await enter(home, "ada")
    assert (result.smart_auto_switched, home.caller(result).roles) == (True, ("Member",))
    wanted = result.current_tenant
    assert wanted is not None
    preferred = await enter(home, "ada", preferred_tenant_id=wanted.id, requested_app_id="shop")
    assert (preferred.smart_auto_switched, home.caller(preferred).app_id) == (False, "shop")


async def test_an_address_that_nobody_vouched_for_must_be_confirmed_first(home: Home) -> None:
    with pytest.raises(EmailNotConfirmed):
        await enter(home, "ada, unverified")
    user = await account(home)
    assert user is not None
    assert not user.email_confirmed
    await home.confirm(await home.token())
    assert home.caller(await enter(home, "ada, unverified")).user_id == user.id


async def test_an_address_that_nobody_vouched_for_opens_no_account_that_is_there(home: Home) -> None:
    await home.holder()
    with pytest.raises(InvalidCredentials):
        await enter(home, "mallory")
    assert (await home.login()).token


@pytest.mark.parametrize("token", ["nameless", "no address", "unknown"])
async def test_without_an_address_or_a_good_token_there_is_no_account(home: Home, token: str) -> None:
    with pytest.raises(InvalidCredentials):
        await enter(home, token)


@pytest.mark.parametrize("provider", ["microsoft", "myspace", "", "x" * 500])
async def test_a_provider_that_is_not_turned_on_is_wrong_in_the_request(home: Home, provider: str) -> None:
    with pytest.raises(ValidationError) as error:
        await home.services.social_sign_in.login(SocialForm(provider=provider, access_token="ada"), HERE)
    assert [one.field for one in error.value.fields] == ["provider"]


async def test_a_provider_that_is_away_is_nobodys_mistake(home: Home) -> None:
    away = replace(home.services.social_sign_in, providers=MemorySocialProviders(["google"], TOKENS, away=["google"]))
    with pytest.raises(ServiceUnavailable):
        await away.login(SocialForm(provider="google", access_token="ada"), HERE)
    assert await account(home) is None


async def test_a_proved_account_is_linked_and_keeps_all_it_has(home: Home) -> None:
    await home.holder()
    before = await home.login()
    caller = home.caller(before)
    linked = await enter(home, "ada")
    assert home.caller(linked).user_id == caller.user_id
    assert await home.is_alive(caller)
    await home.login()


async def test_who_registered_an_address_that_was_not_theirs_loses_all_of_it(
    registry: Registry, database: WholeDatabase
) -> None:
    home = await open_home(registry, database, CONFIRM_EMAIL="false")
    await home.register()
    theirs = await home.login()
    squatter = home.caller(theirs)
    await home.services.accounts.request_link("confirmation", EmailForm(email=EMAIL))
    confirmation = await home.token()
    owner = home.caller(await enter(home, "ada"))
    assert owner.user_id == squatter.user_id
    assert not await home.is_alive(squatter)
    assert await home.is_alive(owner)
    with pytest.raises(InvalidCredentials):
        await home.login()
    with pytest.raises(TokenInvalid):
        await home.services.sign_in.refresh(RefreshForm(refresh_token=theirs.refresh_token), HERE)
    with pytest.raises(ValidationError):
        await home.confirm(confirmation)


async def test_who_came_first_with_an_unverified_identity_is_unlinked_by_the_owner(
    registry: Registry, database: WholeDatabase
) -> None:
    home = await open_home(registry, database, CONFIRM_EMAIL="false")
    mallory = home.caller(await enter(home, "mallory"))
    owner = home.caller(await enter(home, "ada"))
    assert owner.user_id == mallory.user_id
    assert not await home.is_alive(mallory)
    with pytest.raises(InvalidCredentials):
        await enter(home, "mallory")
    assert home.caller(await enter(home, "ada")).user_id == owner.user_id


async def test_and_by_a_reset_of_the_password_too(registry: Registry, database: WholeDatabase) -> None:
    home = await open_home(registry, database, CONFIRM_EMAIL="false")
    mallory = home.caller(await enter(home, "mallory"))
    await home.ask()
    await home.reset(await home.token())
    with pytest.raises(InvalidCredentials):
        await enter(home, "mallory")
    assert home.caller(await home.login(NEW)).user_id == mallory.user_id


async def test_an_account_that_an_administrator_made_is_its_owners_alone(home: Home) -> None:
    root = await home.admin()
    form = NewUserForm(email=EMAIL, password=PASSWORD, full_name="Prepared", roles=["Member"])
    made = await home.services.users.create(root, form, HERE)
    prepared = home.caller(await home.login())
    owner = home.caller(await enter(home, "ada"))
    assert owner.user_id == made.id == prepared.user_id
    assert not await home.is_alive(prepared)
    with pytest.raises(InvalidCredentials):
        await home.login()
    detail = await home.services.users.get(root, made.id)
    assert (detail.roles, detail.must_change_password, detail.email_confirmed) == (("Member",), False, True)


async def test_an_identity_that_is_vouched_for_later_claims_its_own_account(home: Home) -> None:
    with pytest.raises(EmailNotConfirmed):
        await enter(home, "ada, unverified")
    assert (await enter(home, "ada, later verified")).token
    user = await account(home)
    assert user is not None
    assert user.email_proved


async def test_an_address_given_by_an_administrator_is_not_proved_by_the_one_before(home: Home) -> None:
    root = await home.admin()
    made = await home.holder()
    await home.services.users.update(root, made.id, UserForm(email="other@example.com"), HERE)
    user = await account(home, "other@example.com")
    assert user is not None
    assert not user.email_proved


async def test_a_disabled_account_stays_closed_and_is_not_linked(home: Home) -> None:
    root = await home.admin()
    made = await home.holder()
    await home.services.users.update(root, made.id, UserForm(is_active=False), HERE)
    with pytest.raises(AccountDisabled):
        await enter(home, "ada")
    async with home.world.database.reading(EveryTenant()) as read:
        assert await read.social.user_of("google", "1") is None


async def test_a_lock_keeps_nobody_from_a_social_login_and_is_not_lifted_by_it(home: Home) -> None:
    await home.holder()
    for _ in range(5):
        with pytest.raises(InvalidCredentials):
            await home.login("a wrong password")
    with pytest.raises(AccountLocked):
        await home.login()
    await enter(home, "ada")
    with pytest.raises(AccountLocked):
        await home.login()


async def test_the_super_admin_is_no_easier_to_claim(home: Home) -> None:
    before = await home.admin()
    after = home.caller(await enter(home, "admin"))
    assert after.user_id == before.user_id
    assert not await home.is_alive(before)
    with pytest.raises(Forbidden):
        await enter(home, "ada", preferred_tenant_id=before.tenant_id)


class Interrupted:
    """Passwords that let something happen while a new one is hashed."""

    def __init__(self, passwords: Passwords, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self.passwords, self.meanwhile = passwords, meanwhile

    async def hash(self, password: str) -> str:
        await self.meanwhile()
        return await self.passwords.hash(password)

    async def verify(self, password: str, stored: str | None) -> bool:
        return await self.passwords.verify(password, stored)

    def is_outdated(self, stored: str) -> bool:
        return self.passwords.is_outdated(stored)


async def test_who_is_put_out_while_changing_the_password_does_not_change_it_any_more(
    registry: Registry, database: WholeDatabase
) -> None:
    home = await open_home(registry, database, CONFIRM_EMAIL="false")
    await home.register()
    squatter = home.caller(await home.login())
    late = replace(home.services.accounts, passwords=Interrupted(home.world.passwords, lambda: enter(home, "ada")))
    with pytest.raises(TokenInvalid):
        await late.change_password(squatter, ChangeForm(current_password=PASSWORD, new_password=NEW), HERE)
    with pytest.raises(InvalidCredentials):
        await home.login(NEW)
