"""Signing keys: processes that start together agree on the first one.

Refresh tokens: sealing is deterministic, and only texts sealed with this key open.

Tickets: only what was sealed here as the same kind opens, until its end, and each has an id of its own.

A changed secret key: old and new together open everything, ``reseal`` moves stored keys, then the old one can go.
"""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

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
from application.ports.identity.sessions import Ticket
from application.ports.identity.signing_keys import Keyring
from application.ports.whole_database import WholeDatabase
from domain.identity.signing_keys import PURPOSES, SigningKey
from domain.identity.tokens import RefreshToken
from domain.scope import EveryTenant
from tests.builders import NOW, new_id, user


def key(kid: str, days: int = 0) -> SigningKey:
    return SigningKey(kid=kid, public=f"public {kid}", sealed=f"sealed {kid}", active_from=NOW + timedelta(days))


async def test_keys_come_the_oldest_first(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        for new_key in (key("b", 1), key("a", 2), key("c", 0)):
            await tx.keys.add(new_key)
        assert await tx.keys.all() == [key("c", 0), key("b", 1), key("a", 2)]
        assert not await tx.keys.add_first(key("d"))


async def test_each_purpose_has_a_separate_first_key(database: WholeDatabase) -> None:
    keys = [replace(key(purpose), purpose=purpose) for purpose in PURPOSES]
    async with database.transaction(EveryTenant()) as tx:
        assert [await tx.keys.add_first(stored_key) for stored_key in keys] == [True] * len(PURPOSES)
        assert not await tx.keys.add_first(replace(keys[-1], kid="another"))
        assert sorted(await tx.keys.all(), key=lambda stored: PURPOSES.index(stored.purpose)) == keys


async def test_resealing_a_key_changes_only_its_sealed_value(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.keys.add(key("a"))
        await tx.keys.add(key("b", 1))
        await tx.keys.reseal(replace(key("a"), sealed="sealed anew", public="forged"))
        assert await tx.keys.all() == [replace(key("a"), sealed="sealed anew"), key("b", 1)]


@pytest.mark.promise("identity, tokens and keys: Keys are sealed, shared, made once")
async def test_concurrent_creations_of_the_first_key_succeed_once(database: WholeDatabase) -> None:
    async def add_first(n: int) -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.keys.add_first(key(str(n)))

    assert sum(await asyncio.gather(*(add_first(n) for n in range(20)))) == 1
    async with database.read_only(EveryTenant()) as read:
        assert len(await read.keys.all()) == 1


SECRET = "a secret key of more than 32 characters"
TOKENS = SealedRefreshTokens(SECRET)
TOKEN = RefreshToken(UUID(int=7), 3)
SEALED = TOKENS.seal(TOKEN)


@pytest.mark.promise("identity, refresh tokens and sessions: one row, a sealed counter, compare-and-swap")
@given(st.uuids(), st.integers(0, 2**63 - 1))
def test_a_sealed_refresh_token_opens_to_the_same_token(session_id: UUID, counter: int) -> None:
    token = RefreshToken(session_id, counter)
    assert TOKENS.open(TOKENS.seal(token)) == token


def test_the_same_token_is_the_same_text_in_every_process() -> None:
    assert SealedRefreshTokens(SECRET).seal(TOKEN) == SEALED
    assert TOKENS.seal(RefreshToken(TOKEN.session_id, 4)) != SEALED


def test_another_secret_opens_nothing() -> None:
    assert SealedRefreshTokens(SECRET + "!").open(SEALED) is None


@pytest.mark.parametrize("at", range(len(SEALED)))
def test_no_character_can_be_changed(at: int) -> None:
    for other in "Aq-_":
        changed = SEALED[:at] + other + SEALED[at + 1 :]
        assert changed == SEALED or TOKENS.open(changed) is None


@pytest.mark.promise("identity, refresh tokens and sessions: one row, a sealed counter, compare-and-swap")
@pytest.mark.parametrize(
    "text", ["", "x", SEALED[:-1], SEALED + "A", SEALED + "=", SEALED[:-1] + "\n", " " + SEALED[1:], "ä" * 75, "." * 75]
)
def test_nothing_else_opens(text: str) -> None:
    assert TOKENS.open(text) is None


@given(st.text(max_size=100))
def test_arbitrary_text_is_refused_and_never_breaks(text: str) -> None:
    assert TOKENS.open(text) is None


TICKETS = SealedTickets(SECRET)
UNTIL = NOW + timedelta(minutes=5)


class Waiting(Struct, frozen=True):
    user_id: UUID
    methods: tuple[str, ...]


class Other(Struct, frozen=True):
    challenge: str


CONTENT = Waiting(UUID(int=7), ("pwd",))
SEALED_OF_TICKETS = TICKETS.seal("mfa", CONTENT, UNTIL)


def test_a_sealed_ticket_opens_in_every_process_until_it_expires() -> None:
    opened = SealedTickets(SECRET).open("mfa", SEALED_OF_TICKETS, Waiting, UNTIL - timedelta.resolution)
    assert opened is not None
    assert opened == Ticket(opened.id, CONTENT, UNTIL)
    assert TICKETS.open("mfa", SEALED_OF_TICKETS, Waiting, UNTIL) is None


def test_each_ticket_has_a_different_id() -> None:
    opened = [TICKETS.open("mfa", TICKETS.seal("mfa", CONTENT, UNTIL), Waiting, NOW) for _ in range(100)]
    assert len({ticket.id for ticket in opened if ticket}) == 100


@pytest.mark.promise(
    "second factors, attacks: a ticket after a logout, twice, from another network, changed, of another kind"
)
def test_a_ticket_opens_only_with_its_kind_its_content_and_its_secret() -> None:
    assert TICKETS.open("passkey", SEALED_OF_TICKETS, Waiting, NOW) is None
    assert TICKETS.open("sso", SEALED_OF_TICKETS, Waiting, NOW) is None
    assert TICKETS.open("mfa", SEALED_OF_TICKETS, Other, NOW) is None
    assert SealedTickets(SECRET + "!").open("mfa", SEALED_OF_TICKETS, Waiting, NOW) is None


def test_the_text_of_a_ticket_reveals_no_content() -> None:
    assert str(CONTENT.user_id) not in SEALED_OF_TICKETS
    assert len(SEALED_OF_TICKETS) < 500


@pytest.mark.parametrize("at", range(0, len(SEALED_OF_TICKETS), 7))
def test_no_character_can_be_changed_of_tickets(at: int) -> None:
    opened = TICKETS.open("mfa", SEALED_OF_TICKETS, Waiting, NOW)
    for other in "Aq-_.":
        changed = SEALED_OF_TICKETS[:at] + other + SEALED_OF_TICKETS[at + 1 :]
        # Unused bits of the last character may differ: then it is the same ticket, with the same id.
        assert TICKETS.open("mfa", changed, Waiting, NOW) in (None, opened)
        assert (
            changed == SEALED_OF_TICKETS
            or at == len(SEALED_OF_TICKETS) - 1
            or TICKETS.open("mfa", changed, Waiting, NOW) is None
        )


@given(st.text(max_size=100))
def test_arbitrary_text_is_refused_and_never_breaks_of_tickets(text: str) -> None:
    assert TICKETS.open("mfa", text, Waiting, NOW) is None


@pytest.mark.parametrize("text", ["", "....", "e30....", "a" * 100_000, SEALED_OF_TICKETS + ".", "ä" * 75])
def test_nothing_else_opens_of_tickets(text: str) -> None:
    assert TICKETS.open("mfa", text, Waiting, NOW) is None


OLD, NEW = "the old secret key, of more than 32 characters", "the new secret key, of more than 32 characters"
ISSUANCE = Issuance(issuer="https://here", audience="https://here", lifetime=timedelta(hours=1))


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
async def test_stored_keys_open_by_either_secret_until_they_are_resealed(database: WholeDatabase) -> None:
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
async def test_no_key_is_resealed_without_the_old_secret(database: WholeDatabase) -> None:
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
def test_refresh_tokens_and_tickets_of_the_previous_secret_open() -> None:
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
async def test_secrets_of_authenticator_apps_are_resealed(database: WholeDatabase) -> None:
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
