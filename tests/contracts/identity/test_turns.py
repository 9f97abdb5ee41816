"""Turns: one at a time for each key, in the order of arrival, and an end of the row."""

import asyncio

import pytest

from application.identity.login.keyed_locks import MOST_IN_A_ROW, KeyedLocks
from application.ports.runtime import Turns
from domain.errors import TooBusy


async def test_callers_of_one_key_take_turns_and_a_row_has_an_end() -> None:
    by_key = KeyedLocks()
    turns: Turns = by_key
    began, ended = list[int](), asyncio.Event()

    async def work(number: int) -> None:
        async with turns.taken("ada"):
            began.append(number)
            await ended.wait()

    waiting = [asyncio.create_task(work(number)) for number in range(MOST_IN_A_ROW)]
    await asyncio.sleep(0)
    with pytest.raises(TooBusy):
        await work(MOST_IN_A_ROW)
    async with turns.taken("somebody else"):
        assert (began, len(by_key)) == ([0], 2)
    waiting[1].cancel()
    ended.set()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert began == [0, *range(2, MOST_IN_A_ROW)]
    assert len(by_key) == 0
