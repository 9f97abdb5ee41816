"""Changes of addresses that wait for their proof: one for each account, found by its link until it ends."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from application.ports.identity.accounts import EmailChange
from application.ports.whole_database import WholeDatabase
from domain.identity.users import User
from domain.scope import EveryTenant
from tests.builders import NOW, user

LATER = NOW + timedelta(hours=24)


@pytest.fixture
async def ada(database: WholeDatabase) -> User:
    ada = user(email="ada@example.com")
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
    return ada


def change_of(owner: User, **given: Any) -> EmailChange:
    values = {"user_id": owner.id, "email": "Ada@New.example", "email_key": "ada@new.example", "hash": str(owner.id)}
    return EmailChange(**{**values, "requested_at": NOW, "expires_at": LATER, "mailed_at": (NOW,), **given})


async def test_a_change_is_found_by_its_hash_until_it_expires(database: WholeDatabase, ada: User) -> None:
    change = change_of(ada)
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.email_changes.of_user(ada.id) is None
        await tx.email_changes.save(change)
        assert await tx.email_changes.of_user(ada.id) == change
        assert await tx.email_changes.by_hash(change.hash, LATER - timedelta.resolution) == change
        assert await tx.email_changes.by_hash(change.hash, LATER) is None
        assert await tx.email_changes.by_hash("another", NOW) is None


async def test_a_later_change_ends_the_link_of_an_earlier(database: WholeDatabase, ada: User) -> None:
    first, second = change_of(ada), change_of(ada, hash="second", email="x@new.example", mailed_at=(NOW, LATER))
    async with database.transaction(EveryTenant()) as tx:
        await tx.email_changes.save(first)
        await tx.email_changes.save(second)
        assert await tx.email_changes.by_hash(first.hash, NOW) is None
        assert await tx.email_changes.of_user(ada.id) == second


@pytest.mark.promise("tenants, own account: a link works once, for its own address, for a day, and only the last one")
async def test_of_many_that_end_a_change_one_ends_it(database: WholeDatabase, ada: User) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.email_changes.save(change_of(ada))

    async def end() -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.email_changes.end(ada.id)

    assert sorted(await asyncio.gather(*(end() for _ in range(8)))) == [False] * 7 + [True]


async def test_an_ended_email_change_has_no_link_and_retains_its_mail_times(database: WholeDatabase, ada: User) -> None:
    change, later = change_of(ada), change_of(ada, hash="later", mailed_at=(NOW, LATER))
    async with database.transaction(EveryTenant()) as tx:
        await tx.email_changes.save(change)
        assert await tx.email_changes.end(ada.id)
        assert await tx.email_changes.by_hash(change.hash, NOW) is None
        ended = await tx.email_changes.of_user(ada.id)
        assert ended is not None
        assert (ended.email, ended.email_key, ended.mailed_at) == ("", "", (NOW,))
        assert await tx.email_changes.by_hash(ended.hash, LATER) is None
        await tx.email_changes.save(later)
        assert await tx.email_changes.by_hash(later.hash, NOW) == later
        assert await tx.email_changes.end(ada.id)


@pytest.mark.parametrize("how", ["another address", "another name", "gone"])
async def test_a_change_ends_with_the_address_it_was_to_replace(database: WholeDatabase, ada: User, how: str) -> None:
    change = change_of(ada)
    async with database.transaction(EveryTenant()) as tx:
        await tx.email_changes.save(change)
        if how == "gone":
            await tx.users.remove(ada.id)
        elif how == "another name":
            await tx.users.save(replace(ada, full_name="Ada King"), ada)
        else:
            await tx.users.save(replace(ada, email="b@example.com", email_key="b@example.com"), ada)
        assert await tx.email_changes.of_user(ada.id) == (change if how == "another name" else None)
