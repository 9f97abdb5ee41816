"""Sessions: rotated by one at a time, and never after their end."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace

from application.ports.database import WholeDatabase
from domain.identity import User
from domain.scope import EveryTenant
from domain.sessions import is_expired
from tests.builders import LIFETIMES, NOW, new_id, session, user


@pytest.fixture
async def ada(database: WholeDatabase) -> User:
    one = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(one)
    return one


async def test_a_session_is_found_as_it_was_stored(database: WholeDatabase, ada: User) -> None:
    stored = session(ada.id, tenant_id=new_id(), app_id="shop", address="::1", device="a browser", counter=7)
    async with database.transaction(EveryTenant()) as tx:
        await tx.sessions.add(stored)
        assert await tx.sessions.by_id(stored.id) == stored
        assert await tx.sessions.by_id(new_id()) is None
        found = await tx.sessions.with_standing(stored.id)
        assert found == (stored, await tx.users.standing(ada.id))
        assert await tx.sessions.with_standing(new_id()) is None


async def test_of_fifty_rotations_at_once_one_succeeds(database: WholeDatabase, ada: User) -> None:
    stored = session(ada.id)
    later = NOW + timedelta(minutes=5)
    rotated = replace(stored, counter=1, tenant_id=new_id(), rotated_at=later)
    async with database.transaction(EveryTenant()) as tx:
        await tx.sessions.add(stored)

    async def rotate() -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.sessions.rotate(rotated, seen=0)

    assert sum(await asyncio.gather(*(rotate() for _ in range(50)))) == 1
    async with database.reading(EveryTenant()) as read:
        assert await read.sessions.by_id(stored.id) == rotated


async def test_an_ended_session_stays_ended(database: WholeDatabase, ada: User) -> None:
    stored = session(ada.id)
    async with database.transaction(EveryTenant()) as tx:
        await tx.sessions.add(stored)
        assert await tx.sessions.end(stored.id, NOW)
        assert not await tx.sessions.end(stored.id, NOW + timedelta(1))
        assert not await tx.sessions.end(new_id(), NOW)
        assert not await tx.sessions.rotate(replace(stored, counter=1), seen=0)
        assert await tx.sessions.by_id(stored.id) == replace(stored, ended_at=NOW)


async def test_living_sessions_come_last_used_first(database: WholeDatabase, ada: User) -> None:
    old, new, ended = session(ada.id), session(ada.id, rotated_at=NOW + timedelta(1)), session(ada.id)
    other = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(other)
        for one in (old, new, ended, session(other.id)):
            await tx.sessions.add(one)
        await tx.sessions.end(ended.id, NOW)
        assert await tx.sessions.living(ada.id, NOW, LIFETIMES) == [new, old]
        await tx.users.end_sessions(ada.id, NOW)
        assert await tx.sessions.living(ada.id, NOW, LIFETIMES) == []
        assert len(await tx.sessions.living(other.id, NOW, LIFETIMES)) == 1


async def test_expired_sessions_are_not_among_the_living(database: WholeDatabase, ada: User) -> None:
    begun = timedelta(days=30) - timedelta.resolution
    chosen = {"tenant_id": new_id(), "rotated_at": NOW}
    stored = [
        session(ada.id, created_at=NOW - begun, **chosen),
        session(ada.id, created_at=NOW - timedelta(days=30), **chosen),
        session(ada.id, tenant_id=new_id(), created_at=NOW - timedelta(days=8), rotated_at=NOW - timedelta(days=7)),
        session(ada.id, created_at=NOW - timedelta(minutes=10), rotated_at=NOW),
        session(ada.id, created_at=NOW - timedelta(minutes=9), rotated_at=NOW - timedelta(minutes=9)),
    ]
    async with database.transaction(EveryTenant()) as tx:
        for one in stored:
            await tx.sessions.add(one)
        living = await tx.sessions.living(ada.id, NOW, LIFETIMES)
    assert living == [stored[0], stored[4]]
    assert living == [one for one in stored if not is_expired(one, NOW, LIFETIMES)]
