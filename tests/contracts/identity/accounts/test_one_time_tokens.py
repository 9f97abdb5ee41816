"""Credentials and one-time tokens: used once, replaced by newer ones, void after a change of the address."""

import asyncio
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from application.ports.identity.accounts import OneTimeToken, Purpose
from application.ports.whole_database import WholeDatabase
from domain.identity.users import User
from domain.limits import LINKS_APART
from domain.scope import EveryTenant
from tests.builders import NOW, new_id, user

LATER = NOW + timedelta(minutes=60)
TICK = timedelta(microseconds=1)


@pytest.fixture
async def ada(database: WholeDatabase) -> User:
    ada = user(email="ada@example.com", password_hash="old", must_change_password=True)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
    return ada


def token(owner: User, number: int = 1, purpose: Purpose = "reset", at: datetime = NOW) -> OneTimeToken:
    return OneTimeToken(
        user_id=owner.id,
        email_key=owner.email_key,
        purpose=purpose,
        number=number,
        hash=f"{purpose} {owner.id} {number}",
        issued_at=at,
        expires_at=LATER,
    )


async def test_a_token_is_found_by_its_hash_until_it_expires(database: WholeDatabase, ada: User) -> None:
    first = token(ada)
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.one_time_tokens.issue(first)
        assert await tx.one_time_tokens.living("reset", first.hash, NOW) == first
        assert await tx.one_time_tokens.living("confirm", first.hash, NOW) is None
        assert await tx.one_time_tokens.living("reset", "another", NOW) is None
        assert await tx.one_time_tokens.living("reset", first.hash, LATER) is None
        assert not await tx.one_time_tokens.consume("reset", first.hash, LATER)
        assert not await tx.one_time_tokens.consume("confirm", first.hash, NOW)


async def test_a_newer_one_leaves_an_older_alive(database: WholeDatabase, ada: User) -> None:
    old, new = token(ada, 2), token(ada, 3, at=NOW + LINKS_APART)
    async with database.transaction(EveryTenant()) as tx:
        for issued in (token(ada, 1, "confirm"), old, new):
            assert await tx.one_time_tokens.issue(issued)
        for issued in (token(ada, 1, "confirm"), old, new):
            assert await tx.one_time_tokens.living(issued.purpose, issued.hash, NOW) == issued


@pytest.mark.promise(
    "security, lockout: an address gets one mail of a kind in five minutes, and a new request leaves the last link "
    "alive"
)
async def test_an_address_gets_one_of_a_purpose_in_a_while(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.one_time_tokens.issue(token(ada, 2))
        for number in (1, 3):
            assert not await tx.one_time_tokens.issue(token(ada, number, at=NOW + LINKS_APART - TICK))
        assert await tx.one_time_tokens.issue(token(ada, 4, "confirm"))
        moved = replace(ada, email_key="new@example.com")
        assert await tx.one_time_tokens.issue(token(moved, 5))
        assert await tx.one_time_tokens.issue(token(ada, 6, at=NOW + LINKS_APART))


@pytest.mark.promise(
    "security, lockout: an address gets one mail of a kind in five minutes, and a new request leaves the last link "
    "alive"
)
async def test_of_many_at_once_one_is_issued(database: WholeDatabase, ada: User) -> None:
    async def issue(number: int) -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.one_time_tokens.issue(token(ada, number))

    assert sum(await asyncio.gather(*map(issue, range(10)))) == 1


async def test_an_older_one_than_a_used_one_is_not_issued(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.one_time_tokens.issue(token(ada, 2))
        assert await tx.one_time_tokens.consume("reset", token(ada, 2).hash, NOW)
        assert not await tx.one_time_tokens.issue(token(ada, 1, at=NOW + LINKS_APART))
        assert await tx.one_time_tokens.issue(token(ada, 3, at=NOW + LINKS_APART))


async def test_the_same_one_again_is_renewed_unless_it_was_used(database: WholeDatabase, ada: User) -> None:
    first = token(ada)
    renewed = replace(first, expires_at=LATER + timedelta(minutes=5))
    async with database.transaction(EveryTenant()) as tx:
        await tx.one_time_tokens.issue(first)
        assert await tx.one_time_tokens.issue(renewed)
        assert await tx.one_time_tokens.living("reset", first.hash, LATER) == renewed
        assert await tx.one_time_tokens.consume("reset", first.hash, NOW)
        assert not await tx.one_time_tokens.issue(first)
        assert await tx.one_time_tokens.living("reset", first.hash, NOW) is None
        assert await tx.one_time_tokens.issue(token(ada, 2, at=NOW + LINKS_APART))


async def test_concurrent_uses_of_a_one_time_token_succeed_once(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.one_time_tokens.issue(token(ada))

    async def consume() -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.one_time_tokens.consume("reset", token(ada).hash, NOW)

    assert sum(await asyncio.gather(*(consume() for _ in range(20)))) == 1


async def test_forgotten_ones_are_as_if_used(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.one_time_tokens.issue(token(ada))
        await tx.one_time_tokens.issue(token(ada, 3, at=NOW + LINKS_APART))
        await tx.one_time_tokens.issue(token(ada, 2, "confirm"))
        await tx.one_time_tokens.forget(ada.id, ["reset"], NOW)
        for number in (1, 3):
            assert await tx.one_time_tokens.living("reset", token(ada, number).hash, NOW) is None
            assert not await tx.one_time_tokens.issue(token(ada, number))
        assert await tx.one_time_tokens.living("confirm", token(ada, 2, "confirm").hash, NOW) is not None


async def test_they_end_with_the_address_and_with_the_account(database: WholeDatabase, ada: User) -> None:
    bob = user(email="bob@example.com")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(bob)
        for person in (ada, bob):
            await tx.one_time_tokens.issue(token(person))
        await tx.users.save(replace(ada, full_name="Ada"), ada)
        assert await tx.one_time_tokens.living("reset", token(ada).hash, NOW) is not None
        await tx.users.save(replace(ada, email="new@example.com", email_key="new@example.com"), ada)
        await tx.users.remove(bob.id)
        for person in (ada, bob):
            assert await tx.one_time_tokens.living("reset", token(person).hash, NOW) is None


async def test_saving_a_user_preserves_concurrent_changes(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(ada.id, "new", LATER)
        await tx.users.save(replace(ada, full_name="Ada Byron", updated_at=LATER), ada)
        state = await tx.users.state(ada.id)
    assert state is not None
    assert (state.user.password_hash, state.user.full_name) == ("new", "Ada Byron")


async def test_a_password_is_set_without_touching_anything_else(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(ada.id, "new", LATER)
        await tx.credentials.set_password(new_id(), "new", LATER)
        state = await tx.users.state(ada.id)
    assert state is not None
    changes = {"password_hash": "new", "password_set_at": LATER, "must_change_password": False, "updated_at": LATER}
    assert state.user == replace(ada, **changes)


async def test_only_the_address_that_the_account_has_is_confirmed(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        assert not await tx.credentials.confirm_email(ada.id, "old@example.com", LATER)
        assert not await tx.credentials.confirm_email(new_id(), ada.email_key, LATER)
        assert await tx.credentials.confirm_email(ada.id, ada.email_key, LATER)
        first = await tx.users.state(ada.id)
        assert await tx.credentials.confirm_email(ada.id, ada.email_key, LATER + timedelta(1))
        again = await tx.users.state(ada.id)
    assert first is not None
    assert first.user == replace(ada, email_confirmed=True, email_proved=True, email_proved_at=LATER, updated_at=LATER)
    assert again is not None
    assert again.user.email_proved_at == LATER
