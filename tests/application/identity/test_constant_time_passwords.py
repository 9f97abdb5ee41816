"""Refusals take the same time for imported hashes and others, as long as any imported hash is stored."""

import time
from datetime import timedelta

import pytest

from adapters.argon2 import Argon2ForeignHashes
from adapters.memory.identity.passwords import MemoryPasswords
from application.identity.passwords.constant_time_passwords import BUDGET, ConstantTimePasswords
from application.ports.whole_database import WholeDatabase
from domain.scope import EveryTenant
from tests.builders import user
from tests.contracts.passwords.test_foreign_hashes import OF_OTHERS
from tests.waiting import HUNG_AFTER

QUICK = timedelta(milliseconds=150)
ENDLESS = timedelta(hours=1)


@pytest.fixture
def passwords(database: WholeDatabase) -> ConstantTimePasswords:
    return ConstantTimePasswords(MemoryPasswords(), database, QUICK)


async def took(passwords: ConstantTimePasswords, password: str, stored: str | None) -> float:
    began = time.monotonic()
    await passwords.verify(password, stored)
    return time.monotonic() - began


async def test_without_imported_hashes_a_refusal_is_not_delayed(database: WholeDatabase) -> None:
    assert await took(ConstantTimePasswords(MemoryPasswords(), database, ENDLESS), "wrong", None) < HUNG_AFTER


@pytest.mark.promise("identity, passwords: an imported hash does not show by time")
async def test_with_one_of_them_every_refusal_comes_at_the_same_time(
    passwords: ConstantTimePasswords, database: WholeDatabase
) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(user(password_hash=Argon2ForeignHashes().accepted(OF_OTHERS["bcrypt"])))
    own = await passwords.hash("right")
    times = [await took(passwords, "wrong", stored) for stored in (None, "no hash", own)]
    assert all(QUICK.total_seconds() <= seconds < HUNG_AFTER for seconds in times), times
    assert await took(ConstantTimePasswords(MemoryPasswords(), database, ENDLESS), "right", own) < HUNG_AFTER
    assert not passwords.is_outdated(own)


def test_the_budget_is_longer_than_the_dearest_hash_that_is_taken() -> None:
    from adapters.argon2.foreign import LONGEST_SECONDS

    assert BUDGET.total_seconds() >= LONGEST_SECONDS * 2
