"""A changed secret key: old and new together open everything, ``reseal`` moves stored keys, then the old one can go."""

from datetime import timedelta
from uuid import UUID

import pytest
from msgspec import Struct

from adapters.joserfc import (
    Issuance,
    JoserfcEncryptedPasswords,
    JoserfcKeyring,
    JoserfcTokens,
    SealedRefreshTokens,
    SealedTickets,
    WrongSecretKey,
)
from adapters.memory.clock import MovableClock
from application.operations.signing_keys import KeyRotation
from application.ports.identity.signing_keys import Keyring
from application.ports.whole_database import WholeDatabase
from domain.identity.signing_keys import PURPOSES
from domain.identity.tokens import RefreshToken
from domain.scope import EveryTenant
from tests.builders import NOW

OLD, NEW = "the old secret key, of more than 32 characters", "the new secret key, of more than 32 characters"
ISSUANCE = Issuance(issuer="https://here", audience="https://here", lifetime=timedelta(hours=1))
TOKEN = RefreshToken(UUID(int=7), 3)


class Content(Struct):
    text: str


def keyring(secret: str, other: str | None = None) -> Keyring:
    return JoserfcKeyring(JoserfcTokens(secret, ISSUANCE, other), JoserfcEncryptedPasswords(secret, other))


def rotation(database: WholeDatabase, secret: str, other: str | None = None) -> KeyRotation:
    return KeyRotation(database, keyring(secret, other), MovableClock(NOW))


async def test_stored_keys_are_opened_by_either_secret_until_they_are_sealed_anew(database: WholeDatabase) -> None:
    before = rotation(database, OLD)
    await before.ensure()
    with pytest.raises(WrongSecretKey):
        await rotation(database, NEW).reload()
    # a process that is to have the new secret, one that has it already, and one that has the old one alone
    await rotation(database, OLD, NEW).reload()
    both = rotation(database, NEW, OLD)
    await both.reload()
    assert both.keyring.published(NOW) == before.keyring.published(NOW)

    assert await both.reseal() == len(PURPOSES)
    after = rotation(database, NEW)
    await after.reload()
    assert after.keyring.published(NOW) == before.keyring.published(NOW)
    await rotation(database, OLD, NEW).reload()
    with pytest.raises(WrongSecretKey):
        await rotation(database, OLD).reload()
    assert await after.reseal() == len(PURPOSES)


async def test_without_the_old_secret_nothing_is_sealed_anew(database: WholeDatabase) -> None:
    await rotation(database, OLD).ensure()
    async with database.read_only(EveryTenant()) as read:
        stored = await read.keys.all()
    with pytest.raises(WrongSecretKey):
        await rotation(database, NEW).reseal()
    with pytest.raises(WrongSecretKey):
        keyring(NEW).resealed(stored[0])
    async with database.read_only(EveryTenant()) as read:
        assert await read.keys.all() == stored


def test_refresh_tokens_and_tickets_of_the_other_secret_open() -> None:
    sealed = SealedRefreshTokens(OLD).seal(TOKEN)
    assert SealedRefreshTokens(NEW, OLD).open(sealed) == TOKEN
    assert SealedRefreshTokens(OLD, NEW).open(SealedRefreshTokens(NEW).seal(TOKEN)) == TOKEN
    assert SealedRefreshTokens(NEW).open(sealed) is None
    assert SealedRefreshTokens(NEW, OLD).seal(TOKEN) == SealedRefreshTokens(NEW).seal(TOKEN)

    until = NOW + timedelta(minutes=5)
    ticket = SealedTickets(OLD).seal("mfa", Content("waiting"), until)
    opened = SealedTickets(NEW, OLD).open("mfa", ticket, Content, NOW)
    assert opened is not None
    assert opened.content == Content("waiting")
    assert SealedTickets(NEW).open("mfa", ticket, Content, NOW) is None
