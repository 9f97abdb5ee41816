"""Mails that tell the owner what changed about the ways into the account."""

from dataclasses import replace

import pytest

from adapters.memory.identity.social import MemorySocialProviders
from application.identity.login.forms import LoginForm, LoginResult
from application.identity.social.social_sign_in import SocialForm
from application.ports.identity.accounts import LinkedProvider, SocialIdentity
from domain.entities.declaration import Registry
from domain.errors import EmailNotConfirmed
from domain.scope import Client
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService
from tests.builders import ensure_keys
from tests.http.app import ADMIN, SETTINGS
from tests.http.app import PASSWORD as ADMIN_PASSWORD

TOKENS = {
    "ada": SocialIdentity(provider="google", subject="1", email=EMAIL, email_verified=True, name="Ada"),
    "unproved": SocialIdentity(provider="github", subject="2", email=EMAIL, email_verified=False, name="Ada"),
}
AWAY = Client(address="198.51.100.1", network="198.51.100.1", device="a telephone")


@pytest.fixture
async def service(registry: Registry) -> InMemoryService:
    settings = read_settings(SETTINGS)
    providers = MemorySocialProviders(["google", "github"], TOKENS)
    adapters = replace(memory_adapters(settings, registry), social=providers)
    services = assemble(adapters, settings)
    await ensure_keys(services)
    await services.first_start.prepare(ADMIN, ADMIN_PASSWORD)
    return InMemoryService(services, adapters)


async def subjects(service: InMemoryService) -> list[str]:
    return [mail.subject.partition(": ")[2] for mail in await service.mails()]


async def enter(service: InMemoryService, token: str) -> list[LinkedProvider]:
    """Logs in by a provider, and returns the identities that the profile shows."""
    form = SocialForm(provider=TOKENS[token].provider, access_token=token)
    result = await service.services.social_sign_in.login(form, HERE)
    assert isinstance(result, LoginResult)
    caller = service.caller(result)
    return (await service.services.profiles.complete(caller)).identities


@pytest.mark.promise(
    "security, rights: the owner learns by mail of a login from a new device, of a linked and of an unlinked identity, "
    "and of changed roles"
)
async def test_linking_an_identity_notifies_the_owner_and_is_listed(service: InMemoryService) -> None:
    await service.register()
    await service.mails()
    assert await enter(service, "ada") == [LinkedProvider("google", service.clock.now())]
    assert await subjects(service) == ["A way to log in was added to your account"]
    assert await enter(service, "ada") == [LinkedProvider("google", service.clock.now())]
    assert await subjects(service) == []


@pytest.mark.promise(
    "security, rights: the owner learns by mail of a login from a new device, of a linked and of an unlinked identity, "
    "and of changed roles"
)
async def test_an_identity_that_a_confirmation_unlinks_is_notified(service: InMemoryService) -> None:
    with pytest.raises(EmailNotConfirmed):
        await enter(service, "unproved")
    await service.confirm(await service.token())
    assert await subjects(service) == ["Ways to log in were removed from your account"]


async def test_a_confirmation_that_unlinks_nothing_is_not_notified(service: InMemoryService) -> None:
    await service.holder()
    assert await subjects(service) == []


async def test_a_login_from_a_new_device_is_notified_except_the_first_login(service: InMemoryService) -> None:
    await service.holder()
    await service.login()
    assert await subjects(service) == []
    form = LoginForm(email=EMAIL, password=PASSWORD, is_password_encrypted=False)
    await service.services.sign_in.login(form, AWAY)
    mail = await service.mail()
    assert "A login from a new device" in mail.subject
    assert AWAY.address in mail.text
    another = Client(address="198.51.100.2", network="198.51.100.2", device="another telephone", language="de")
    await service.services.sign_in.login(form, another)
    assert "Guten Tag" in (await service.mail()).text
    await service.services.sign_in.login(form, AWAY)
    assert await subjects(service) == []
