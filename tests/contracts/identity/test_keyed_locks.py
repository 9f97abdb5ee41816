"""Locks by key: one holder at a time, in the order of arrival, and a bounded queue."""

import asyncio

import pytest

from application.identity.login.keyed_locks import LONGEST_QUEUE, KeyedLocks
from domain.errors import TooBusy


async def test_callers_of_one_key_hold_it_one_after_the_other_and_the_queue_is_bounded() -> None:
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
