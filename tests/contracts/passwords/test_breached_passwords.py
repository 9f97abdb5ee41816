"""Breach services: what they know is refused as a new password, and their outage keeps nobody from setting one."""

import asyncio
import logging

import pytest

from adapters.breaches import Ask, AskedBreaches
from adapters.memory.identity.passwords import MemoryBreaches
from application.identity.passwords.password_rules import PasswordRules
from application.ports.runtime import BreachedPasswords
from domain.errors import ValidationError

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


async def test_it_knows_what_it_knows(breaches: BreachedPasswords) -> None:
    assert await breaches.is_breached(KNOWN)
    assert not await breaches.is_breached(UNKNOWN)


async def ensure_good(password: str, breaches: BreachedPasswords | None) -> None:
    rules = PasswordRules(("Tenantry",), breaches)
    await rules.ensure_good(
        password, email="ada@example.com", full_name="Ada Lovelace", field="newPassword", tenants=["Acme Tools"]
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
@pytest.mark.parametrize("password", ["tenantry-2026", "Acme Tools 1", "acme12345", "TOOLS2026", "password123"])
async def test_what_is_refused_anyway_is_told_to_nobody(password: str) -> None:
    with pytest.raises(ValidationError):
        await ensure_good(password, AskedBreaches(fails))


@pytest.mark.promise("security, secrets: a breach service of the project is asked last, and its outage stops nobody")
@pytest.mark.parametrize("ask", [fails, never_answers])
async def test_a_breach_service_that_is_away_stops_nobody(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert not await AskedBreaches(ask, patience=0.01).is_breached(KNOWN)
    assert "did not answer" in caplog.text
    assert KNOWN not in caplog.text
