"""Passwords: neither the result nor its time tells whether there was a hash to compare with.

Breach services: what they know is refused as a new password, and their outage keeps nobody from setting one.
"""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import suppress
from uuid import UUID

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError

from adapters.argon2 import Argon2Passwords, Cost
from adapters.argon2.passwords import made_up
from adapters.breaches import Ask, AskedBreaches
from adapters.memory.identity.passwords import MemoryBreaches, MemoryPasswords
from application.identity.passwords.password_rules import PasswordRules
from application.ports.database import ASKED_BY
from application.ports.runtime import BreachedPasswords, Passwords
from domain.errors import TooBusy, ValidationError
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


async def test_a_password_matches_only_its_hash(passwords: Passwords) -> None:
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
    cheap, dear = Argon2Passwords(CHEAP, cores=1), Argon2Passwords(Cost(memory_kib=16, passes=2), cores=1)
    stored = await cheap.hash("correct horse")
    assert dear.is_outdated(stored)
    assert await dear.verify("correct horse", stored)


@pytest.mark.promise("identity, passwords: Argon2id at OWASP's cost, and a weaker hash renewed")
def test_the_default_cost_is_what_owasp_asks_for() -> None:
    assert Cost() == Cost(memory_kib=19_456, passes=2, lanes=1)


async def test_a_missing_hash_is_verified_in_the_time_of_a_real_one() -> None:
    passwords = Argon2Passwords(Cost(), cores=1)
    stored = await passwords.hash("correct horse")
    missing = min([await _seconds(passwords, None) for _ in range(5)])
    broken = min([await _seconds(passwords, "plain") for _ in range(5)])
    real = min([await _seconds(passwords, stored) for _ in range(5)])
    assert real / 2 < missing < real * 2
    assert real / 2 < broken < real * 2


def test_the_substitute_for_a_missing_hash_costs_as_much_as_a_real_hash() -> None:
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


async def test_a_cancelled_hash_releases_its_place_when_the_work_is_done() -> None:
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


KNOWN, UNKNOWN = "correct horse battery", "a staple of another kind"


async def knows(password: str) -> bool:
    return password == KNOWN


async def fails(password: str) -> bool:
    raise ConnectionError(password)


async def never_answers(_: str) -> bool:
    await asyncio.Event().wait()
    return True


@pytest.fixture(params=["memory", "asked"])
def breaches(request: pytest.FixtureRequest) -> BreachedPasswords:
    return MemoryBreaches(frozenset({KNOWN})) if request.param == "memory" else AskedBreaches(knows)


async def test_a_breach_service_knows_breached_passwords_only(breaches: BreachedPasswords) -> None:
    assert await breaches.is_breached(KNOWN)
    assert not await breaches.is_breached(UNKNOWN)


async def ensure_good(password: str, breaches: BreachedPasswords | None) -> None:
    rules = PasswordRules(("Tenantry",), breaches)
    await rules.ensure_good(
        password,
        email="ada@example.com",
        full_name="Ada Lovelace",
        field="newPassword",
        tenants=["Acme Tools", "north-wind"],
    )


@pytest.mark.promise("security, secrets: a breach service of the project is asked last, and its outage stops nobody")
async def test_a_password_from_a_breach_is_refused(breaches: BreachedPasswords) -> None:
    await ensure_good(UNKNOWN, breaches)
    await ensure_good(KNOWN, None)
    with pytest.raises(ValidationError):
        await ensure_good(KNOWN, breaches)
    rules = PasswordRules((), breaches)
    (error,) = await rules.errors(KNOWN, email="", full_name="", field="newPassword", tenants=())
    assert (error.field, error.message) == ("newPassword", "was found in a data breach: choose another")


@pytest.mark.promise("security, secrets: a new password is not made of the account, the service or a tenant")
@pytest.mark.parametrize(
    "password",
    [
        *("tenantry-2026", "Acme Tools 1", "acme12345", "TOOLS2026", "password123"),
        *("north-wind", "NorthWind99", "wind-2026!"),
    ],
)
async def test_a_password_that_is_refused_locally_is_not_sent_to_the_breach_service(password: str) -> None:
    with pytest.raises(ValidationError):
        await ensure_good(password, AskedBreaches(fails))


@pytest.mark.promise("security, secrets: a breach service of the project is asked last, and its outage stops nobody")
@pytest.mark.parametrize("ask", [fails, never_answers])
async def test_an_unavailable_breach_service_refuses_no_password(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert not await AskedBreaches(ask, patience=0.01).is_breached(KNOWN)
    assert "did not answer" in caplog.text
    assert KNOWN not in caplog.text
