"""A refused login tells a stranger nothing: not by status, body, headers or time."""

import random
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import httpx
import pytest
import pytest_asyncio

from adapters.argon2 import Argon2Passwords, Cost
from adapters.http.app import HttpSettings
from adapters.memory.clock import MovableClock
from application.ports.runtime import Passwords
from domain.entities.catalogue import ENTITIES
from domain.scope import EveryTenant
from entrypoints.assembly.adapters import Adapters, memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from tests.builders import ensure_keys, user
from tests.contracts.identity.login.test_factors import app_of
from tests.http.app import ADMIN, PASSWORD, SETTINGS, client_of, registry_of

SAMPLES = 100
FARTHEST = 0.35
"""Largest distance between the distributions of two sets of samples: 0 for the same, 1 for two that are apart.

By chance alone it passes 0.28 once in a thousand times.
"""

VARIES = ("date", "x-request-id", "x-ratelimit-reset", "x-ratelimit-remaining")
COST = Cost(memory_kib=4_096, passes=1)


@dataclass(frozen=True)
class Undisguised:
    """The fault that the measure must see: nothing is verified where there is nothing to verify against."""

    passwords: Passwords

    async def hash(self, password: str) -> str:
        return await self.passwords.hash(password)

    async def verify(self, password: str, stored: str | None) -> bool:
        return stored is not None and await self.passwords.verify(password, stored)

    def is_outdated(self, stored: str) -> bool:
        return self.passwords.is_outdated(stored)


@dataclass(frozen=True)
class LoginProbe:
    """Accounts of every state, and the client of a stranger who tries them."""

    adapters: Adapters
    client: httpx.AsyncClient

    async def guess(self, email: str, password: str = "a wrong guess") -> httpx.Response:
        body = {"email": email, "password": password, "isPasswordEncrypted": False}
        return await self.client.post("/api/auth/login", json=body)

    async def timed(self, emails: Sequence[str]) -> dict[str, list[float]]:
        """CPU time of attempts, in an order that chance alone decides, so that other load falls on all alike.

        Nothing here waits: what one attempt takes longer than another is work of this process.
        """
        order = list(emails) * SAMPLES
        random.Random(7).shuffle(order)
        took: dict[str, list[float]] = {email: [] for email in emails}
        for email in order:
            began = time.process_time()
            await self.guess(email)
            took[email].append(time.process_time() - began)
        return took


async def open_login_probe(*, disguised: bool = True, **variables: str) -> LoginProbe:
    environment = {f"TENANTRY_{name}": value for name, value in variables.items()}
    settings = read_settings({**SETTINGS, "TENANTRY_LOCKOUT_ATTEMPTS": "1000", **environment})
    passwords = Argon2Passwords(COST, cores=1)
    adapters = memory_adapters(settings, registry_of(tuple(ENTITIES)))
    adapters = replace(adapters, passwords=passwords if disguised else Undisguised(passwords))
    services = assemble(adapters, settings)
    await ensure_keys(services)
    await services.first_start.prepare(ADMIN, PASSWORD)
    stored = await passwords.hash(PASSWORD)
    accounts = (
        user(email="known@example.com", password_hash=stored, email_confirmed=True),
        user(email="disabled@example.com", password_hash=stored, email_confirmed=True, is_active=False),
        user(email="unconfirmed@example.com", password_hash=stored),
        user(email="social@example.com", email_confirmed=True),
        user(email="locked@example.com", password_hash=stored, email_confirmed=True),
        user(email="enrolled@example.com", password_hash=stored, email_confirmed=True),
    )
    async with adapters.database.transaction(EveryTenant()) as tx:
        for account in accounts:
            await tx.users.add(account)
        await tx.factors.add(app_of(accounts[-1]))
    return LoginProbe(adapters, client_of(services, HttpSettings(counts_limits=False)))


UNKNOWN = "unknown@example.com"
STATES = (
    UNKNOWN,
    "known@example.com",
    "disabled@example.com",
    "unconfirmed@example.com",
    "social@example.com",
    "enrolled@example.com",
)
"""An account that does not exist, and living, disabled, unconfirmed and passwordless ones, and one with a factor."""


@pytest_asyncio.fixture
async def probe() -> AsyncIterator[LoginProbe]:
    probe = await open_login_probe()
    yield probe
    await probe.client.aclose()


def said(answer: httpx.Response) -> tuple[int, bytes, Mapping[str, str]]:
    return answer.status_code, answer.content, {k: v for k, v in answer.headers.items() if k not in VARIES}


@pytest.mark.promise("identity, errors: INVALID_CREDENTIALS 401")
@pytest.mark.promise(
    "identity, passwords: unknown e-mail, wrong password, disabled, unconfirmed, social account: alike by answer and "
    "by time"
)
@pytest.mark.promise("second factors, attacks: MFA_REQUIRED as an oracle for passwords, also by its time")
async def test_a_refused_login_says_the_same_of_every_account(probe: LoginProbe) -> None:
    answers = [said(await probe.guess(email)) for email in STATES]
    assert answers[0][0] == 401
    assert b"INVALID_CREDENTIALS" in answers[0][1]
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.promise("identity, errors: EMAIL_NOT_CONFIRMED 401")
@pytest.mark.parametrize(
    ("email", "code"),
    [(STATES[2], "ACCOUNT_DISABLED"), (STATES[3], "EMAIL_NOT_CONFIRMED"), (STATES[5], "MFA_REQUIRED")],
)
async def test_the_state_of_an_account_is_reported_only_with_its_password(
    probe: LoginProbe, email: str, code: str
) -> None:
    answer = await probe.guess(email, PASSWORD)
    assert (answer.status_code, answer.json()["errorCode"]) == (401, code)


@pytest.mark.promise(
    "identity, passwords: unknown e-mail, wrong password, disabled, unconfirmed, social account: alike by answer and "
    "by time"
)
@pytest.mark.promise("second factors, attacks: MFA_REQUIRED as an oracle for passwords, also by its time")
async def test_a_refused_login_lasts_as_long_for_every_account(probe: LoginProbe) -> None:
    took = await probe.timed(STATES)
    distances = {email: distance(took[UNKNOWN], took[email]) for email in STATES}
    assert max(distances.values()) < FARTHEST, distances
    assert max(map(median, took.values())) < 1.25 * min(map(median, took.values()))


@pytest.mark.promise(
    "identity, passwords: unknown e-mail, wrong password, disabled, unconfirmed, social account: alike by answer and "
    "by time"
)
async def test_the_measure_sees_a_hash_that_is_not_computed() -> None:
    probe = await open_login_probe(disguised=False)
    took = await probe.timed((UNKNOWN, STATES[1]))
    assert distance(took[UNKNOWN], took[STATES[1]]) > FARTHEST
    assert median(took[STATES[1]]) > 1.25 * median(took[UNKNOWN])


@pytest.mark.promise("identity, passwords: a lock is no oracle, and ends by time")
async def test_a_locked_login_gets_the_same_answer_in_the_same_time_for_every_account() -> None:
    probe = await open_login_probe(LOCKOUT_ATTEMPTS="3")
    emails = (UNKNOWN, "locked@example.com", "disabled@example.com", "social@example.com")
    for email in emails:
        for _ in range(3):
            assert (await probe.guess(email)).json()["errorCode"] == "INVALID_CREDENTIALS"
    answers = [said(await probe.guess(email, password)) for email in emails for password in ("wrong", PASSWORD)]
    assert b"ACCOUNT_LOCKED" in answers[0][1]
    assert all(answer == answers[0] for answer in answers)
    took = await probe.timed(emails)
    assert max(distance(took[UNKNOWN], took[email]) for email in emails) < FARTHEST
    clock = probe.adapters.clock
    assert isinstance(clock, MovableClock)
    clock.move(timedelta(minutes=15))
    assert (await probe.guess("locked@example.com", PASSWORD)).status_code == 200


def median(samples: Sequence[float]) -> float:
    return sorted(samples)[len(samples) // 2]


def distance(left: Sequence[float], right: Sequence[float]) -> float:
    """Kolmogorov's and Smirnov's: how far the two cumulative distributions are apart at most."""
    first, second = sorted(left), sorted(right)
    return max(
        abs(bisect_right(first, moment) / len(first) - bisect_right(second, moment) / len(second))
        for moment in (*first, *second)
    )
