"""Welcome mails: a stranger's address gets a few a day, however often an account with it is made."""

from datetime import timedelta

import pytest

from application.identity.administration.user_forms import NewUserForm
from domain.limits import WELCOMES_A_DAY
from tests.application.identity.test_social_sign_in import service
from tests.application.in_memory_service import HERE, PASSWORD, InMemoryService

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
    sent = [await make_and_delete(service, emails[number % len(emails)]) for number in range(WELCOMES_A_DAY + 3)]
    assert sent == [1] * WELCOMES_A_DAY + [0] * 3
    assert await make_and_delete(service, "other@example.com") == 1
    service.clock.move(timedelta(days=1))
    assert await make_and_delete(service, emails[0]) == 1


async def test_accounts_without_a_welcome_do_not_count(service: InMemoryService) -> None:
    for _ in range(WELCOMES_A_DAY + 1):
        assert await make_and_delete(service, "s@example.com", is_welcomed=False) == 0
    assert await make_and_delete(service, "s@example.com") == 1
