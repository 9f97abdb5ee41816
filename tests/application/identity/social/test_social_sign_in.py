"""Social logins: the account they open, and accounts prepared by others, which go to the owner of the address."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from adapters.memory.identity.social import MemorySocialProviders
from application.identity.account.accounts import ChangeForm, EmailForm
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import NewUserForm, UserForm
from application.identity.login.forms import LoginResult, RefreshForm
from application.identity.social.social_sign_in import SocialForm
from application.ports.identity.accounts import SocialIdentity
from application.ports.runtime import Passwords
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
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from tests.application.in_memory_service import EMAIL, HERE, NEW, PASSWORD, InMemoryService
from tests.builders import ensure_keys
from tests.http.app import ADMIN, SETTINGS
from tests.http.app import PASSWORD as ADMIN_PASSWORD


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


async def open_service(registry: Registry, database: WholeDatabase, **settings: str) -> InMemoryService:
    given = {f"TENANTRY_{name}": value for name, value in settings.items()}
    read = read_settings({**SETTINGS, **given})
    providers = MemorySocialProviders(["google", "github", "facebook"], TOKENS)
    adapters = replace(memory_adapters(read, registry), database=database, social=providers)
    services = assemble(adapters, read)
    await ensure_keys(services)
    await services.first_start.prepare(ADMIN, ADMIN_PASSWORD)
    return InMemoryService(services, adapters)


@pytest.fixture
async def service(registry: Registry, database: WholeDatabase) -> InMemoryService:
    return await open_service(registry, database)


async def complete_login(service: InMemoryService, token: str, **form: Any) -> LoginResult:
    provider = TOKENS[token].provider if token in TOKENS else "google"
    wanted = SocialForm(provider=provider, access_token=token, **form)
    result = await service.services.social_sign_in.login(wanted, HERE)
    assert isinstance(result, LoginResult)
    return result


async def account(service: InMemoryService, email: str = EMAIL) -> User | None:
    async with service.adapters.database.read_only(EveryTenant()) as read:
        state = await read.users.state_by_email(email)
    return state.user if state else None


@pytest.mark.promise(
    "identity, social login: Account by provider and subject, otherwise by verified address, otherwise a new one"
)
async def test_a_newcomer_gets_an_account_and_is_known_the_next_time(service: InMemoryService) -> None:
    first = await complete_login(service, "ada")
    again = await complete_login(service, "ada")
    assert (first.is_first_login, again.is_first_login) == (True, False)
    assert (first.is_global, first.requires_tenant_selection) == (True, False)
    user = await account(service)
    assert user is not None
    assert (user.full_name, user.email, user.password_hash) == ("Ada of Elsewhere", EMAIL, None)
    assert user.email_confirmed
    assert user.email_proved
    assert service.caller(first).user_id == service.caller(again).user_id == user.id
    assert await service.mails() == []


async def test_no_newcomer_gets_an_account_where_registration_is_off(
    registry: Registry, database: WholeDatabase
) -> None:
    service = await open_service(registry, database, SELF_REGISTRATION="off")
    with pytest.raises(InvalidCredentials):
        await complete_login(service, "ada")
    assert await account(service) is None


async def test_of_many_first_logins_at_once_one_makes_the_account(service: InMemoryService) -> None:
    results = await asyncio.gather(*(complete_login(service, "ada") for _ in range(8)))
    assert len({service.caller(result).user_id for result in results}) == 1


async def test_two_providers_that_vouch_for_one_address_open_one_account(service: InMemoryService) -> None:
    results = [await complete_login(service, token) for token in ("ada", "ada at github", "ada at github", "ada")]
    assert len({service.caller(result).user_id for result in results}) == 1


@pytest.mark.promise(
    "security, impersonation: a provider's address opens an account only when it is identical but for ASCII case"
)
@pytest.mark.parametrize(
    ("owned", "vouched_for"),
    [
        ("ceo@strasse.example", "ceo@straße.example"),
        ("ceo@example.com", "ceo@ｅｘａｍｐｌｅ。com"),
        ("sam@a.example", "ſam@a.example"),
    ],
)
async def test_an_address_that_only_folds_to_an_account_s_opens_nothing(
    service: InMemoryService, owned: str, vouched_for: str
) -> None:
    await service.register(owned)
    await service.confirm(await service.token(), owned)
    for email in (vouched_for, owned.upper()):
        TOKENS["folding"] = identity("google", f"subject of {email}", email)
        try:
            opened = service.caller(await complete_login(service, "folding")).email
        except InvalidCredentials:
            opened = None
        assert (opened == owned) is (email == owned.upper()), email


async def test_a_newcomer_joins_the_default_tenant(registry: Registry, database: WholeDatabase) -> None:
    service = await open_service(registry, database, DEFAULT_TENANT="acme")
    await service.services.tenants.create(await service.admin(), NewTenantForm(name="Acme", identifier="acme"), HERE)
    result = await complete_login(service, "ada")
    assert (result.smart_auto_switched, service.caller(result).roles) == (True, ("Member",))
    wanted = result.current_tenant
    assert wanted is not None
    preferred = await complete_login(service, "ada", preferred_tenant_id=wanted.id, requested_app_id="shop")
    assert (preferred.smart_auto_switched, service.caller(preferred).app_id) == (False, "shop")


@pytest.mark.promise(
    "security, rights: Identities that were linked before the proof of an address are unlinked by it, and a changed "
    "address unlinks all"
)
async def test_an_unverified_provider_address_must_be_confirmed_first(service: InMemoryService) -> None:
    with pytest.raises(EmailNotConfirmed):
        await complete_login(service, "ada, unverified")
    user = await account(service)
    assert user is not None
    assert not user.email_confirmed
    await service.confirm(await service.token())
    # Nobody vouched for the identity that was linked before the proof: it may be somebody else's, and is unlinked.
    with pytest.raises(InvalidCredentials):
        await complete_login(service, "ada, unverified")


@pytest.mark.promise("identity, social login: Addresses that the provider has not verified")
async def test_an_unverified_provider_address_does_not_open_an_existing_account(service: InMemoryService) -> None:
    await service.holder()
    with pytest.raises(InvalidCredentials):
        await complete_login(service, "mallory")
    assert (await service.login()).token


@pytest.mark.parametrize("token", ["nameless", "no address", "unknown"])
async def test_a_provider_answer_without_address_or_valid_token_creates_no_account(
    service: InMemoryService, token: str
) -> None:
    with pytest.raises(InvalidCredentials):
        await complete_login(service, token)


@pytest.mark.parametrize("provider", ["microsoft", "myspace", "", "x" * 500])
async def test_a_provider_that_is_not_turned_on_is_wrong_in_the_request(
    service: InMemoryService, provider: str
) -> None:
    with pytest.raises(ValidationError) as error:
        await service.services.social_sign_in.login(SocialForm(provider=provider, access_token="ada"), HERE)
    assert [detail.field for detail in error.value.fields] == ["provider"]


@pytest.mark.promise("identity, social login: unknown provider 400, refused token 401, provider away 503")
async def test_an_unavailable_provider_is_reported_as_unavailable(service: InMemoryService) -> None:
    away = replace(
        service.services.social_sign_in, providers=MemorySocialProviders(["google"], TOKENS, away=["google"])
    )
    with pytest.raises(ServiceUnavailable):
        await away.login(SocialForm(provider="google", access_token="ada"), HERE)
    assert await account(service) is None


@pytest.mark.promise(
    "identity, social login: Account by provider and subject, otherwise by verified address, otherwise a new one"
)
async def test_linking_a_proved_account_preserves_its_sessions_and_password(service: InMemoryService) -> None:
    await service.holder()
    before = await service.login()
    caller = service.caller(before)
    linked = await complete_login(service, "ada")
    assert service.caller(linked).user_id == caller.user_id
    assert await service.is_alive(caller)
    await service.login()


@pytest.mark.promise(
    "identity, social login: an account whose owner never proved the address loses everything that was put into it"
)
async def test_who_registered_an_address_that_was_not_theirs_loses_all_of_it(
    registry: Registry, database: WholeDatabase
) -> None:
    service = await open_service(registry, database, CONFIRM_EMAIL="false")
    await service.register()
    theirs = await service.login()
    squatter = service.caller(theirs)
    await service.services.accounts.request_link("confirmation", EmailForm(email=EMAIL))
    confirmation = await service.token()
    owner = service.caller(await complete_login(service, "ada"))
    assert owner.user_id == squatter.user_id
    assert not await service.is_alive(squatter)
    assert await service.is_alive(owner)
    with pytest.raises(InvalidCredentials):
        await service.login()
    with pytest.raises(TokenInvalid):
        await service.services.renewal.refresh(RefreshForm(refresh_token=theirs.refresh_token), HERE)
    with pytest.raises(ValidationError):
        await service.confirm(confirmation)


async def test_who_came_first_with_an_unverified_identity_is_unlinked_by_the_owner(
    registry: Registry, database: WholeDatabase
) -> None:
    service = await open_service(registry, database, CONFIRM_EMAIL="false")
    mallory = service.caller(await complete_login(service, "mallory"))
    owner = service.caller(await complete_login(service, "ada"))
    assert owner.user_id == mallory.user_id
    assert not await service.is_alive(mallory)
    with pytest.raises(InvalidCredentials):
        await complete_login(service, "mallory")
    assert service.caller(await complete_login(service, "ada")).user_id == owner.user_id


async def test_and_by_a_reset_of_the_password_too(registry: Registry, database: WholeDatabase) -> None:
    service = await open_service(registry, database, CONFIRM_EMAIL="false")
    mallory = service.caller(await complete_login(service, "mallory"))
    await service.ask()
    await service.reset(await service.token())
    with pytest.raises(InvalidCredentials):
        await complete_login(service, "mallory")
    assert service.caller(await service.login(NEW)).user_id == mallory.user_id


@pytest.mark.promise(
    "identity, social login: an account whose owner never proved the address loses everything that was put into it"
)
@pytest.mark.promise("identity, administration: an account prepared for somebody else")
async def test_a_social_login_of_the_owner_revokes_access_to_a_prepared_account(service: InMemoryService) -> None:
    root = await service.admin()
    form = NewUserForm(email=EMAIL, password=PASSWORD, full_name="Prepared", roles=["Member"])
    made = await service.services.users.create(root, form, HERE)
    prepared = service.caller(await service.login())
    owner = service.caller(await complete_login(service, "ada"))
    assert owner.user_id == made.id == prepared.user_id
    assert not await service.is_alive(prepared)
    with pytest.raises(InvalidCredentials):
        await service.login()
    detail = await service.services.users.get(root, made.id)
    assert (detail.roles, detail.must_change_password, detail.email_confirmed) == (("Member",), False, True)


async def test_an_identity_that_is_vouched_for_later_claims_its_own_account(service: InMemoryService) -> None:
    with pytest.raises(EmailNotConfirmed):
        await complete_login(service, "ada, unverified")
    assert (await complete_login(service, "ada, later verified")).token
    user = await account(service)
    assert user is not None
    assert user.email_proved


async def test_an_address_set_by_an_administrator_is_unproved(service: InMemoryService) -> None:
    root = await service.admin()
    made = await service.holder()
    await service.services.users.update(root, made.id, UserForm(email="other@example.com"), HERE)
    user = await account(service, "other@example.com")
    assert user is not None
    assert not user.email_proved


async def test_a_disabled_account_stays_closed_and_is_not_linked(service: InMemoryService) -> None:
    root = await service.admin()
    made = await service.holder()
    await service.services.users.update(root, made.id, UserForm(is_active=False), HERE)
    with pytest.raises(AccountDisabled):
        await complete_login(service, "ada")
    async with service.adapters.database.read_only(EveryTenant()) as read:
        assert await read.social.user_of("google", "1") is None


@pytest.mark.promise("identity, social login: a lock does not affect social logins")
async def test_a_lock_does_not_affect_social_logins_and_is_not_lifted_by_them(service: InMemoryService) -> None:
    await service.holder()
    for _ in range(5):
        with pytest.raises(InvalidCredentials):
            await service.login("a wrong password")
    with pytest.raises(AccountLocked):
        await service.login()
    await complete_login(service, "ada")
    with pytest.raises(AccountLocked):
        await service.login()


async def test_a_social_login_cannot_claim_the_super_admin_more_easily(service: InMemoryService) -> None:
    before = await service.admin()
    after = service.caller(await complete_login(service, "admin"))
    assert after.user_id == before.user_id
    assert not await service.is_alive(before)
    with pytest.raises(Forbidden):
        await complete_login(service, "ada", preferred_tenant_id=before.tenant_id)


class Interrupted:
    """Passwords that run a callback while a new password is hashed."""

    def __init__(self, passwords: Passwords, meanwhile: Callable[[], Awaitable[object]]) -> None:
        self.passwords, self.meanwhile = passwords, meanwhile

    async def hash(self, password: str) -> str:
        await self.meanwhile()
        return await self.passwords.hash(password)

    async def verify(self, password: str, stored: str | None) -> bool:
        return await self.passwords.verify(password, stored)

    def is_outdated(self, stored: str) -> bool:
        return self.passwords.is_outdated(stored)


async def test_a_session_revoked_during_a_change_does_not_change_the_password(
    registry: Registry, database: WholeDatabase
) -> None:
    service = await open_service(registry, database, CONFIRM_EMAIL="false")
    await service.register()
    squatter = service.caller(await service.login())
    late = replace(
        service.services.accounts,
        passwords=Interrupted(service.adapters.passwords, lambda: complete_login(service, "ada")),
    )
    with pytest.raises(TokenInvalid):
        await late.change_password(squatter, ChangeForm(current_password=PASSWORD, new_password=NEW), HERE)
    with pytest.raises(InvalidCredentials):
        await service.login(NEW)
