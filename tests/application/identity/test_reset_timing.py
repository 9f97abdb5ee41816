"""Response times of a password reset do not tell whether an address has an account."""

from collections.abc import Awaitable, Callable
from time import perf_counter

import pytest

from adapters.joserfc import JoserfcEncryptedPasswords
from adapters.joserfc.link_secrets import DerivedLinkSecrets
from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.cache import MemoryCache
from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.identity.passwords import MemoryPasswords
from adapters.postgres.database import PostgresDatabase
from application.identity.account.accounts import Accounts, EmailForm, ResetForm
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.identity.passwords.password_rules import PasswordRules
from application.identity.self_service.email_changes import EmailChangeRequests
from domain.errors import ValidationError
from domain.limits import Lockout
from domain.scope import Client, EveryTenant
from tests.builders import NOW, user

SAMPLES = 200
HERE = Client(address="192.0.2.1", network="192.0.2.1")


@pytest.fixture
async def accounts(postgres: PostgresDatabase) -> Accounts:
    async with postgres.transaction(EveryTenant()) as tx:
        for number in range(SAMPLES):
            await tx.users.add(user(email=f"known{number}@example.com"))
    clock, ids = MovableClock(NOW), CountingIds()
    revocations, cache, secrets = MemoryAdmissions(clock), MemoryCache(clock), DerivedLinkSecrets("a secret for links")
    return Accounts(
        database=postgres,
        passwords=MemoryPasswords(),
        password_reader=PasswordReader(
            postgres, JoserfcEncryptedPasswords("a secret key for tests, long enough"), clock, strict=False
        ),
        password_rules=PasswordRules((), None),
        revocations=revocations,
        cache=cache,
        clock=clock,
        ids=ids,
        lockout=Lockout(5, clock.now() - clock.now()),
        changes=EmailChangeRequests(postgres, revocations, cache, secrets, clock, ids),
    )


async def took(asked: Awaitable[object]) -> float:
    began = perf_counter()
    await asked
    return perf_counter() - began


async def compared(ask: Callable[[str], Awaitable[object]]) -> float:
    """Share of the pairs in which the known address took longer; 0.5 when the two cannot be told apart.

    Both addresses are asked one right after the other, first in turn, so that other load affects both. By chance the
    share leaves 0.35 to 0.65 once in fifty thousand runs.
    """
    slower = 0
    for number in range(20):
        await ask(f"warm{number}@example.com")
    for number in range(SAMPLES):
        pair = [f"known{number}@example.com", f"nobody{number}@example.com"]
        times = {email: await took(ask(email)) for email in (pair if number % 2 else reversed(pair))}
        slower += times[pair[0]] > times[pair[1]]
    return slower / SAMPLES


@pytest.mark.promise("identity, accounts and mail: Reset: the same response in the same time for every address")
async def test_asking_takes_as_long_for_an_unknown_address(accounts: Accounts) -> None:
    chance = await compared(lambda email: accounts.request_link("reset", EmailForm(email=email)))
    assert 0.35 < chance < 0.65, chance


async def test_a_wrong_token_takes_as_long_for_an_unknown_address(accounts: Accounts) -> None:
    async def reset(email: str) -> None:
        with pytest.raises(ValidationError):
            await accounts.reset_password(ResetForm(email=email, token="wrong", new_password="a new password"), HERE)

    chance = await compared(reset)
    assert 0.35 < chance < 0.65, chance


async def test_the_comparison_would_tell_a_statement_more(accounts: Accounts) -> None:
    """Proof that the comparison detects a difference: the work that the relay does would show."""

    async def work_before_answering(email: str) -> None:
        await accounts.request_link("reset", EmailForm(email=email))
        async with accounts.database.transaction(EveryTenant()) as tx:
            if email.startswith("known"):
                state = await tx.users.state_by_email(email)
                assert state is not None
                await tx.one_time_tokens.forget(state.user.id, ["reset"], NOW)

    assert await compared(work_before_answering) > 0.65
