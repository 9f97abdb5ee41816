"""Passwords: neither the result nor its time tells whether there was a hash to compare with."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError

from adapters.argon2 import Argon2Passwords, Cost
from adapters.argon2.passwords import made_up
from adapters.memory.identity.passwords import MemoryPasswords
from application.ports.database import ASKED_BY
from application.ports.runtime import Passwords
from domain.errors import TooBusy
from tests.builders import new_id
from tests.waiting import HUNG_AFTER

CHEAP = Cost(memory_kib=8, passes=1)


@pytest.fixture(params=["memory", "argon2"])
def passwords(request: pytest.FixtureRequest) -> Iterator[Passwords]:
    if request.param == "memory":
        yield MemoryPasswords()
        return
    argon2 = Argon2Passwords(CHEAP, cores=2)
    yield argon2
    argon2.close()


async def test_a_password_matches_its_own_hash_alone(passwords: Passwords) -> None:
    stored = await passwords.hash("correct horse")
    assert "correct horse" not in stored
    assert await passwords.verify("correct horse", stored)
    assert not await passwords.verify("correct horsf", stored)
    assert not await passwords.verify("", stored)


@pytest.mark.parametrize("stored", [None, "", "plain", "$argon2id$v=19$broken", "$2b$12$" + "x" * 53])
async def test_nothing_matches_a_malformed_hash(passwords: Passwords, stored: str | None) -> None:
    assert not await passwords.verify("what nobody has", stored)


async def test_a_fresh_hash_is_up_to_date_and_a_foreign_one_is_not(passwords: Passwords) -> None:
    assert not passwords.is_outdated(await passwords.hash("correct horse"))
    assert passwords.is_outdated("$2b$12$" + "x" * 53)


async def test_a_hash_that_was_cheaper_is_outdated_and_still_matches() -> None:
    cheap, dear = Argon2Passwords(CHEAP), Argon2Passwords(Cost(memory_kib=16, passes=2))
    stored = await cheap.hash("correct horse")
    assert dear.is_outdated(stored)
    assert await dear.verify("correct horse", stored)


@pytest.mark.promise("identity, passwords: Argon2id at OWASP's cost, and a weaker hash renewed")
def test_the_default_cost_is_what_owasp_asks_for() -> None:
    assert Cost() == Cost(memory_kib=19_456, passes=2, lanes=1)


async def test_a_missing_hash_takes_the_time_of_a_real_one() -> None:
    passwords = Argon2Passwords(Cost(), cores=1)
    stored = await passwords.hash("correct horse")
    missing = min([await _seconds(passwords, None) for _ in range(5)])
    broken = min([await _seconds(passwords, "plain") for _ in range(5)])
    real = min([await _seconds(passwords, stored) for _ in range(5)])
    assert real / 2 < missing < real * 2
    assert real / 2 < broken < real * 2


def test_what_a_missing_hash_is_checked_against_costs_what_a_real_one_does() -> None:
    hasher = PasswordHasher(time_cost=3, memory_cost=64, parallelism=2)
    made = made_up(hasher)
    assert extract_parameters(made) == extract_parameters(hasher.hash("correct horse"))
    with pytest.raises(VerifyMismatchError):  # and it is checked to the end
        hasher.verify(made, "correct horse")


async def _seconds(passwords: Passwords, stored: str | None) -> float:
    """CPU seconds of this process, so that other load on the machine does not count."""
    began = time.process_time()
    await passwords.verify("wrong password", stored)
    return time.process_time() - began


@pytest.mark.promise("identity, passwords: Off the event loop, as many as cores, a bounded queue, 429 past it")
async def test_a_full_queue_refuses_and_is_free_again_afterwards() -> None:
    passwords = Argon2Passwords(Cost(), cores=1, waiting=2)
    answers = await asyncio.gather(*(passwords.hash("correct horse") for _ in range(8)), return_exceptions=True)
    assert [type(answer) for answer in answers].count(TooBusy) == 5
    assert await passwords.hash("correct horse")


async def test_a_login_waits_for_one_hash_of_a_tenant_that_wants_many() -> None:
    passwords, done = Argon2Passwords(CHEAP, cores=1, waiting=2), list[str]()

    async def hashed(name: str, asked_by: UUID | None) -> None:
        ASKED_BY.set(asked_by)
        await passwords.hash("correct horse")
        done.append(name)

    tenant = new_id()
    calls = [*(("user", tenant) for _ in range(8)), ("login", None)]
    await asyncio.gather(*(hashed(*call) for call in calls))
    assert done[:2] == ["user", "login"]
    assert done.count("user") == 8
    passwords.close()


async def test_a_caller_who_leaves_gives_the_room_back_when_the_work_is_over() -> None:
    passwords = Argon2Passwords(Cost(), cores=1, waiting=0)
    task = asyncio.create_task(passwords.hash("correct horse"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    deadline = time.monotonic() + HUNG_AFTER
    stored = None
    while stored is None:
        assert time.monotonic() < deadline, "the room is lost"
        with suppress(TooBusy):
            stored = await passwords.hash("correct horse")
        await asyncio.sleep(0.001)
