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
    SealedFactorSecrets,
    SealedRefreshTokens,
    SealedTickets,
    WrongSecretKey,
)
from adapters.memory.clock import MovableClock
from application.operations.signing_keys import KeyRotation
from application.ports.identity.factors import Factor
from application.ports.identity.signing_keys import Keyring
from application.ports.whole_database import WholeDatabase
from domain.identity.signing_keys import PURPOSES
from domain.identity.tokens import RefreshToken
from domain.scope import EveryTenant
from tests.builders import NOW, new_id, user

OLD, NEW = "the old secret key, of more than 32 characters", "the new secret key, of more than 32 characters"
ISSUANCE = Issuance(issuer="https://here", audience="https://here", lifetime=timedelta(hours=1))
TOKEN = RefreshToken(UUID(int=7), 3)


class Content(Struct):
    text: str


def keyring(secret: str, other: str | None = None) -> Keyring:
    return JoserfcKeyring(JoserfcTokens(secret, ISSUANCE, other), JoserfcEncryptedPasswords(secret, other))


def rotation(database: WholeDatabase, secret: str, other: str | None = None) -> KeyRotation:
    return KeyRotation(database, keyring(secret, other), MovableClock(NOW))


@pytest.mark.promise(
    "security, secrets: the secret key changes without an outage: old and new together open everything, and stored "
    "keys are sealed anew"
)
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

    assert await both.reseal(SealedFactorSecrets(NEW, OLD)) == (len(PURPOSES), 0)
    after = rotation(database, NEW)
    await after.reload()
    assert after.keyring.published(NOW) == before.keyring.published(NOW)
    await rotation(database, OLD, NEW).reload()
    with pytest.raises(WrongSecretKey):
        await rotation(database, OLD).reload()
    assert await after.reseal(SealedFactorSecrets(NEW)) == (len(PURPOSES), 0)


@pytest.mark.promise(
    "security, secrets: the secret key changes without an outage: old and new together open everything, and stored "
    "keys are sealed anew"
)
async def test_without_the_old_secret_nothing_is_sealed_anew(database: WholeDatabase) -> None:
    await rotation(database, OLD).ensure()
    async with database.read_only(EveryTenant()) as read:
        stored = await read.keys.all()
    with pytest.raises(WrongSecretKey):
        await rotation(database, NEW).reseal(SealedFactorSecrets(NEW))
    with pytest.raises(WrongSecretKey):
        keyring(NEW).resealed(stored[0])
    async with database.read_only(EveryTenant()) as read:
        assert await read.keys.all() == stored


@pytest.mark.promise(
    "security, secrets: the secret key changes without an outage: old and new together open everything, and stored "
    "keys are sealed anew"
)
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


@pytest.mark.promise(
    "security, secrets: the secret key changes without an outage: old and new together open everything, and stored "
    "keys are sealed anew"
)
async def test_secrets_of_authenticator_apps_are_sealed_anew(database: WholeDatabase) -> None:
    old, both, new = SealedFactorSecrets(OLD), SealedFactorSecrets(NEW, OLD), SealedFactorSecrets(NEW)
    ada, bob = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        for owner in (ada, bob):
            await tx.users.add(owner)
        for owner, sealed in ((ada, old.seal(ada.id, b"ada's")), (bob, new.seal(bob.id, b"bob's")), (bob, "broken")):
            app = Factor(id=new_id(), user_id=owner.id, kind="totp", name="App", created_at=NOW, sealed=sealed)
            await tx.factors.add(app)
    assert await rotation(database, NEW, OLD).reseal(both) == (0, 2)
    async with database.autocommit(EveryTenant()) as tx:
        stored = await tx.stored_secrets.after(None, 10)
        assert [new.open(secret.user_id, secret.sealed) for secret in stored] == [b"ada's", b"bob's", None]
        assert await tx.stored_secrets.after(stored[0].id, 1) == [stored[1]]
        assert await tx.stored_secrets.reseal(stored[0], "anew")
        assert not await tx.stored_secrets.reseal(stored[0], "once more")
