"""What unlinking an identity does not do: keep out an account whose provider vouches for the same address."""

from datetime import timedelta

from msgspec.structs import replace

from application.identity.administration.user_forms import UserForm
from domain.scope import EveryTenant
from tests.application.identity.test_social_sign_in import complete_login, service
from tests.application.in_memory_service import HERE, InMemoryService

__all__ = ["service"]


async def test_the_next_login_links_it_again_until_the_address_is_another(
    service: InMemoryService,
) -> None:  # the fixture
    first = service.caller(await complete_login(service, "ada"))
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(first.user_id, "hash", service.clock.now())
    await service.services.identities.unlink(first, "google", HERE)
    assert service.caller(await complete_login(service, "ada")).user_id == first.user_id
    await service.services.identities.unlink(first, "google", HERE)
    root = await service.admin()
    await service.services.users.update(root, first.user_id, UserForm(email="ada@elsewhere.example"), HERE)
    assert service.caller(await complete_login(service, "ada")).user_id != first.user_id


async def test_its_owner_is_told_in_the_language_of_their_browser(service: InMemoryService) -> None:
    caller = service.caller(await complete_login(service, "ada"))
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(caller.user_id, "hash", service.clock.now())
    await service.services.identities.unlink(caller, "google", replace(HERE, language="de"))
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        due = await tx.outbox.take(10, service.clock.now(), timedelta())
    assert ("identity-removed", "de") in [(taken.mail.kind, taken.mail.language) for taken in due]


async def test_the_profile_shows_it_no_more(service: InMemoryService) -> None:
    caller = service.caller(await complete_login(service, "ada"))
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(caller.user_id, "hash", service.clock.now())
    assert [linked.provider for linked in (await service.services.profiles.complete(caller)).identities] == ["google"]
    await service.services.identities.unlink(caller, "google", HERE)
    assert (await service.services.profiles.complete(caller)).identities == []
