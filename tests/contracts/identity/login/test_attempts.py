"""Attempts: counted before the password is checked, so that parallel guesses cannot outrun the lock.

Locks by key: one holder at a time, in the order of arrival, and a bounded queue.

Reads that lock their rows: a read-only connection refuses them, whatever it is asked to find.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from application.identity.login.keyed_locks import LONGEST_QUEUE, KeyedLocks
from application.ports.whole_database import Transaction, WholeDatabase
from domain.errors import InternalError, TooBusy
from domain.lockout import FAILURES_FORGOTTEN, NETWORK_FORGOTTEN, Lockout
from domain.scope import EveryTenant
from tests.builders import NOW, new_id

LOCKOUT = Lockout(attempts=3, duration=timedelta(minutes=15))
KEY = "ada@example.com"
HOME, AWAY = "192.0.2.1", "198.51.100.1"


class Guesses:
    def __init__(self, database: WholeDatabase) -> None:
        self.database = database

    async def reserve(self, network: str = AWAY, at: datetime = NOW, key: str = KEY) -> bool:
        async with self.database.autocommit(EveryTenant()) as tx:
            return await tx.attempts.reserve(key, network, LOCKOUT, at)

    async def forgive(self, network: str, at: datetime = NOW) -> None:
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.attempts.forgive(KEY, network, at)

    async def forgive_after_reserving(self, network: str) -> None:
        assert await self.reserve(network)
        await self.forgive(network)

    async def release(self, network: str) -> None:
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.attempts.release(KEY, network)

    async def unlock(self) -> None:
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.attempts.unlock(KEY)

    async def locked_until(self, at: datetime = NOW) -> datetime | None:
        async with self.database.read_only(EveryTenant()) as read:
            return await read.attempts.locked_until(KEY, at)

    async def lock(self, network: str = AWAY) -> None:
        for _ in range(LOCKOUT.attempts):
            assert await self.reserve(network)


async def test_so_many_failures_lock_a_network_for_a_while(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    assert await guesses.locked_until() is None
    await guesses.lock()
    assert not await guesses.reserve()
    assert await guesses.reserve(HOME)
    assert await guesses.reserve(key="bob@example.com")
    ends = NOW + LOCKOUT.duration
    assert await guesses.locked_until() == ends
    assert not await guesses.reserve(at=ends - timedelta(microseconds=1))
    assert await guesses.locked_until(ends) is None
    assert await guesses.reserve(at=ends)


async def test_after_a_lock_the_count_of_guesses_restarts(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    await guesses.lock()
    later = NOW + LOCKOUT.duration
    assert [await guesses.reserve(at=later) for _ in range(4)] == [True, True, True, False]


async def locks_in_a_row(guesses: Guesses, number: int, at: datetime = NOW) -> tuple[list[timedelta], datetime]:
    """Durations of locks that each begin as the one before ends, and the end of the last."""
    lasted = []
    for _ in range(number):
        assert [await guesses.reserve(at=at) for _ in range(4)] == [True, True, True, False]
        ends = await guesses.locked_until(at)
        assert ends is not None
        lasted.append(ends - at)
        at = ends
    return lasted, at


@pytest.mark.promise(
    "security, lockout: Locks in a row grow from 15 minutes to a day; seven quiet days, a success and an unlock forget "
    "them"
)
async def test_locks_in_a_row_grow_to_a_day(database: WholeDatabase) -> None:
    lasted, _ = await locks_in_a_row(Guesses(database), 9)
    minutes = [lock // timedelta(minutes=1) for lock in lasted]
    assert minutes == [15, 30, 60, 120, 240, 480, 960, 1440, 1440]


async def test_a_lock_of_more_than_a_day_does_not_grow(database: WholeDatabase) -> None:
    long, at = Lockout(attempts=1, duration=timedelta(days=2)), NOW
    for _ in range(3):
        async with database.autocommit(EveryTenant()) as tx:
            assert await tx.attempts.reserve(KEY, AWAY, long, at)
            assert not await tx.attempts.reserve(KEY, AWAY, long, at + long.duration - timedelta(microseconds=1))
        at += long.duration


@pytest.mark.promise(
    "security, lockout: Locks in a row grow from 15 minutes to a day; seven quiet days, a success and an unlock forget "
    "them"
)
async def test_seven_quiet_days_forget_locks(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    _, ends = await locks_in_a_row(guesses, 2)
    almost = ends + FAILURES_FORGOTTEN - timedelta(microseconds=1)
    lasted, ends = await locks_in_a_row(guesses, 1, almost)
    assert lasted == [4 * LOCKOUT.duration]
    lasted, _ = await locks_in_a_row(guesses, 1, ends + FAILURES_FORGOTTEN)
    assert lasted == [LOCKOUT.duration]


@pytest.mark.promise(
    "security, lockout: Locks in a row grow from 15 minutes to a day; seven quiet days, a success and an unlock forget "
    "them"
)
async def test_a_success_and_an_unlock_forget_locks(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    _, ends = await locks_in_a_row(guesses, 2)
    assert await guesses.reserve(at=ends)
    await guesses.forgive(AWAY, ends)
    lasted, ends = await locks_in_a_row(guesses, 2, ends)
    assert lasted == [LOCKOUT.duration, 2 * LOCKOUT.duration]
    await guesses.unlock()
    lasted, _ = await locks_in_a_row(guesses, 1, ends)
    assert lasted == [LOCKOUT.duration]


async def test_a_lock_that_is_taken_back_was_none(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    await guesses.lock()
    await guesses.release(AWAY)
    assert await guesses.reserve()
    assert await guesses.locked_until() == NOW + LOCKOUT.duration


@pytest.mark.promise(
    "security, lockout: Locks in a row grow from 15 minutes to a day; seven quiet days, a success and an unlock forget "
    "them"
)
async def test_locks_over_all_networks_grow_too(database: WholeDatabase) -> None:
    guesses, at, lasted = Guesses(database), NOW, []
    for turn in range(3):
        strangers = [f"203.0.{turn}.{n}" for n in range(10 * LOCKOUT.attempts)]
        assert all([await guesses.reserve(network, at) for network in strangers])
        ends = await guesses.locked_until(at)
        assert ends is not None
        lasted.append(ends - at)
        at = ends
    assert lasted == [LOCKOUT.duration, 2 * LOCKOUT.duration, 4 * LOCKOUT.duration]


async def test_after_a_long_pause_the_count_of_guesses_restarts(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    for _ in range(2):
        assert await guesses.reserve()
    later = NOW + FAILURES_FORGOTTEN - timedelta(microseconds=1)
    assert [await guesses.reserve(at=later) for _ in range(2)] == [True, False]
    again = later + FAILURES_FORGOTTEN
    assert [await guesses.reserve(at=again) for _ in range(4)] == [True, True, True, False]


async def test_a_pause_ends_no_lock(database: WholeDatabase) -> None:
    guesses, long = Guesses(database), Lockout(attempts=1, duration=2 * FAILURES_FORGOTTEN)
    async with database.autocommit(EveryTenant()) as tx:
        assert await tx.attempts.reserve(KEY, AWAY, long, NOW)
        assert not await tx.attempts.reserve(KEY, AWAY, long, NOW + FAILURES_FORGOTTEN)
    assert await guesses.locked_until() == NOW + long.duration


async def test_a_successful_login_resets_all_failures(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    await guesses.lock()
    await guesses.forgive(AWAY)
    assert await guesses.locked_until() is None
    await guesses.lock()


async def test_a_released_attempt_was_none(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    await guesses.lock()
    await guesses.release(AWAY)
    assert await guesses.locked_until() is None
    assert await guesses.reserve()
    assert not await guesses.reserve()


@pytest.mark.promise(
    "identity, passwords: the attempt is reserved before the hash: of 1,000 guesses at once five are checked"
)
async def test_of_many_guesses_at_once_only_so_many_are_checked(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    assert sum(await asyncio.gather(*(guesses.reserve() for _ in range(100)))) == LOCKOUT.attempts


@pytest.mark.promise("identity, passwords: a stranger elsewhere cannot keep the owner out")
async def test_guesses_from_everywhere_lock_all_but_the_known_networks(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    assert await guesses.reserve(HOME)
    await guesses.forgive(HOME)
    strangers = [f"203.0.113.{n}" for n in range(60)]
    assert sum(await asyncio.gather(*(guesses.reserve(network) for network in strangers))) == 10 * LOCKOUT.attempts
    assert not await guesses.reserve("203.0.113.99")
    assert await guesses.reserve(HOME)
    await guesses.unlock()
    assert await guesses.reserve("203.0.113.99")


async def test_a_login_from_a_known_network_does_not_reset_the_guesses_of_others(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    await guesses.forgive_after_reserving(HOME)
    for n in range(10 * LOCKOUT.attempts):
        assert await guesses.reserve(f"203.0.113.{n}")
    await guesses.forgive_after_reserving(HOME)
    assert not await guesses.reserve("203.0.113.99")


async def test_one_locked_network_cannot_lock_the_others(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    for _ in range(20 * LOCKOUT.attempts):
        await guesses.reserve(AWAY)
    assert await guesses.reserve(HOME)


async def test_unlocking_ends_every_lock(database: WholeDatabase) -> None:
    guesses = Guesses(database)
    for network in (HOME, AWAY):
        await guesses.lock(network)
    await guesses.unlock()
    assert await guesses.locked_until() is None
    for network in (HOME, AWAY):
        await guesses.lock(network)


@pytest.mark.promise("security, lockout: a network is forgotten 90 days after its last success")
async def test_a_network_is_known_for_a_while_after_its_last_success(database: WholeDatabase) -> None:
    guesses = Guesses(database)

    async def is_known(network: str, at: datetime) -> bool:
        async with database.read_only(EveryTenant()) as read:
            return await read.attempts.is_known(KEY, network, at)

    assert await guesses.reserve(HOME)
    assert not await is_known(HOME, NOW)
    await guesses.forgive(HOME)
    again = NOW + timedelta(days=60)
    assert await guesses.reserve(HOME, again)
    await guesses.forgive(HOME, again)
    assert await is_known(HOME, again + NETWORK_FORGOTTEN - timedelta(microseconds=1))
    assert not await is_known(HOME, again + NETWORK_FORGOTTEN)
    assert not await is_known(AWAY, again)
    async with database.read_only(EveryTenant()) as read:
        assert not await read.attempts.is_known("bob@example.com", HOME, again)


@pytest.mark.promise("security, lockout: a network is forgotten 90 days after its last success")
async def test_a_network_that_is_no_longer_known_is_locked_like_any_other(database: WholeDatabase) -> None:
    guesses, later = Guesses(database), NOW + NETWORK_FORGOTTEN
    await guesses.forgive_after_reserving(HOME)
    for n in range(10 * LOCKOUT.attempts):
        assert await guesses.reserve(f"203.0.113.{n}", later)
    assert not await guesses.reserve(HOME, later)


async def test_callers_lock_one_key_in_turn_and_the_queue_is_bounded() -> None:
    locks = KeyedLocks()
    began, ended = list[int](), asyncio.Event()

    async def work(number: int) -> None:
        async with locks.locked("ada"):
            began.append(number)
            await ended.wait()

    waiting = [asyncio.create_task(work(number)) for number in range(LONGEST_QUEUE)]
    await asyncio.sleep(0)
    with pytest.raises(TooBusy):
        await work(LONGEST_QUEUE)
    async with locks.locked("another key"):
        assert (began, len(locks)) == ([0], 2)
    waiting[1].cancel()
    ended.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert began == [0, *range(2, LONGEST_QUEUE)]
    assert len(locks) == 0


ID = new_id()

LOCKING: dict[str, Callable[[Transaction], Awaitable[Any]]] = {
    "a user": lambda tx: tx.memberships.lock(ID),
    "a tenant": lambda tx: tx.tenants.lock(ID),
    "a tenant to remove": lambda tx: tx.tenants.lock_to_remove(ID),
    "a role": lambda tx: tx.roles.lock(ID),
    "roles by name": lambda tx: tx.roles.by_names(ID, ["Member"]),
    "roles of an invitation": lambda tx: tx.received.roles(ID, [ID]),
    "an invitation": lambda tx: tx.invitations.lock(ID, ID),
    "a domain": lambda tx: tx.domains.lock(ID, "example.com"),
    "a request to join": lambda tx: tx.join_requests.lock(ID, ID),
    "keys of an account": lambda tx: tx.api_keys.lock(ID, ID, NOW),
}


@pytest.mark.parametrize("read", LOCKING)
async def test_a_read_that_locks_needs_a_connection_that_writes(database: WholeDatabase, read: str) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await LOCKING[read](tx)
    async with database.autocommit(EveryTenant()) as tx:
        await LOCKING[read](tx)
    with pytest.raises(InternalError, match="A write was tried on a read-only connection"):
        async with database.read_only(EveryTenant()) as tx:
            await LOCKING[read](tx)
