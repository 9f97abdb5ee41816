"""Mails that administrators cause: a stranger's address gets a few of each kind a day, whatever they do."""

from datetime import timedelta
from uuid import UUID

import pytest

from application.identity.administration.mails_to_strangers import MAILS_TO_STRANGERS_A_DAY
from application.identity.administration.user_forms import NewUserForm, RolesForm, UserForm
from tests.application.identity.social.test_social_sign_in import service
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService

__all__ = ["service"]


async def make_and_delete(service: InMemoryService, email: str, *, is_welcomed: bool = True) -> int:
    """Mails to the address of an account that is made, and deleted once they are sent."""
    root, users = await service.admin(), service.services.users
    form = NewUserForm(email=email, password=PASSWORD, full_name="Stranger", send_welcome_email=is_welcomed)
    made = await users.create(root, form, HERE)
    sent = [mail for mail in await service.mails() if mail.to.lower() == email.lower()]
    await users.delete(root, made.id, HERE)
    return len(sent)


@pytest.mark.parametrize("emails", [("s@example.com",), ("s@example.com", "S@Example.com")])
async def test_an_address_gets_a_few_a_day(service: InMemoryService, emails: tuple[str, ...]) -> None:
    sent = [
        await make_and_delete(service, emails[number % len(emails)]) for number in range(MAILS_TO_STRANGERS_A_DAY + 3)
    ]
    assert sent == [1] * MAILS_TO_STRANGERS_A_DAY + [0] * 3
    assert await make_and_delete(service, "other@example.com") == 1
    service.clock.move(timedelta(days=1))
    assert await make_and_delete(service, emails[0]) == 1


async def test_accounts_without_a_welcome_do_not_count(service: InMemoryService) -> None:
    for _ in range(MAILS_TO_STRANGERS_A_DAY + 1):
        assert await make_and_delete(service, "s@example.com", is_welcomed=False) == 0
    assert await make_and_delete(service, "s@example.com") == 1


async def changed_to(service: InMemoryService, user_id: UUID, email: str) -> int:
    """Mails to the address after it became the account's."""
    users = service.services.users
    await users.update(await service.admin(), user_id, UserForm(email=email), HERE)
    return len([mail for mail in await service.mails() if mail.to.lower() == email.lower()])


async def test_an_address_given_to_accounts_gets_a_few_confirmations_and_a_few_notices_a_day(
    service: InMemoryService,
) -> None:
    form = NewUserForm(email="own@example.com", password=PASSWORD, full_name="Own", send_welcome_email=False)
    made = await service.services.users.create(await service.admin(), form, HERE)
    confirmations, notices = [], []
    for _ in range(MAILS_TO_STRANGERS_A_DAY + 3):
        confirmations.append(await changed_to(service, made.id, "s@example.com"))
        await service.services.users.update(await service.admin(), made.id, UserForm(email="own@example.com"), HERE)
        notices.append(len([mail for mail in await service.mails() if mail.to == "s@example.com"]))
    assert confirmations == notices == [1] * MAILS_TO_STRANGERS_A_DAY + [0] * 3


@pytest.mark.parametrize(("is_proved", "expected"), [(True, 8), (False, MAILS_TO_STRANGERS_A_DAY)])
async def test_changed_roles_are_notified_only_to_proved_addresses(
    service: InMemoryService, is_proved: bool, expected: int
) -> None:
    users, root = service.services.users, await service.admin()
    if is_proved:
        await service.holder()
        member_id = service.caller(await service.login()).user_id
        email = EMAIL
    else:
        form = NewUserForm(email="s@example.com", password=PASSWORD, full_name="S", send_welcome_email=False)
        member_id, email = (await users.create(root, form, HERE)).id, "s@example.com"
    await service.mails()
    for number in range(8):
        roles = RolesForm(role_names=["Admin"] if number % 2 == 0 else [])
        await users.assign_roles(root, member_id, roles, HERE)
    sent = [mail for mail in await service.mails() if mail.to == email]
    assert len(sent) == expected
