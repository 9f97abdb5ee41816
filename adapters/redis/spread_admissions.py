"""Admissions in a cluster: versions in one slot, each caller's limits in another, one round trip for both."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from adapters.redis.commands import Commands
from adapters.redis.shared_pipeline import SharedPipeline
from application.ports.shared_memory import PresentedToken
from domain.limits import Hit


class Counted(NamedTuple):
    """The server's time, and the results of counted hits.

    ``numbers`` are the four numbers that ADMIT returns for each hit: allowed, length, time of the oldest hit or 0, time
    when one leaves or 0.
    """

    now: int
    numbers: list[int]

    @property
    def is_allowed(self) -> bool:
        return all(self.numbers[::4])


class SpreadAdmissions:
    """Admissions in a cluster: the work of the script ADMIT, in steps of one slot each.

    The commands of a step are sent together: nodes work in parallel, and commands for one node share a round trip.
    Between two steps, other requests may briefly see a hit before it is undone, and be refused for it. No request
    passes beyond a limit.
    """

    def __init__(self, pipeline: SharedPipeline, commands: Commands) -> None:
        self._pipeline = pipeline
        self._commands = commands

    async def admit(
        self, hits: Sequence[Hit], presented: PresentedToken | None
    ) -> tuple[int, list[int], Sequence[Any], int]:
        """Return ADMIT's answer: now, the numbers of the hits, the values of the versions, 1 for a dead token.

        Raises Away.
        """
        if presented is None or not presented.issued:
            return (*await self._counted(hits), (), 0)
        # Do not send the alternative hits: their keys are in other slots.
        versions = self._pipeline.call(self._commands.admit((), PresentedToken(presented.issued, ())))
        counted, (_, _, values, dead) = await asyncio.gather(self._count(hits), versions)
        if dead:
            # The token is dead, so count the alternative hits instead.
            await self._take_back(hits, counted)
            return (*await self._counted(presented.instead), values, dead)
        return (*await self._all_or_none(hits, counted), values, dead)

    async def recount(self, before: Sequence[Hit], instead: Sequence[Hit]) -> Counted:
        """Undo the counted hits, and count the hits ``instead``. Raises Away."""
        _, counted = await asyncio.gather(self._pop(before, _by_caller(before)), self._count(instead))
        return await self._all_or_none(instead, counted)

    async def _counted(self, hits: Sequence[Hit]) -> Counted:
        return await self._all_or_none(hits, await self._count(hits))

    async def _all_or_none(self, hits: Sequence[Hit], counted: Counted) -> Counted:
        return counted if counted.is_allowed else await self._take_back(hits, counted)

    async def _count(self, hits: Sequence[Hit]) -> Counted:
        """Count all hits of each caller, or none of that caller."""
        groups = list(_by_caller(hits))
        commands = [self._commands.admit([hits[place] for place in group], None) for group in groups]
        answers = await asyncio.gather(*map(self._pipeline.call, commands))
        numbers = [0] * (4 * len(hits))
        for group, (_, counted, _, _) in zip(groups, answers, strict=True):
            for at, place in enumerate(group):
                numbers[4 * place : 4 * place + 4] = counted[4 * at : 4 * at + 4]
        # Nodes have separate clocks: use the latest time, so that callers do not return too early.
        return Counted(max((answer[0] for answer in answers), default=0), numbers)

    async def _take_back(self, hits: Sequence[Hit], counted: Counted) -> Counted:
        """Undo the hits of callers with all hits counted; return the new numbers."""
        numbers = counted.numbers.copy()
        groups = [group for group in _by_caller(hits) if all(numbers[4 * place] for place in group)]
        await self._pop(hits, groups)
        for place in (place for group in groups for place in group):
            numbers[4 * place + 1] -= 1
            if not numbers[4 * place + 1]:
                numbers[4 * place + 2] = 0
        return Counted(counted.now, numbers)

    async def _pop(self, hits: Sequence[Hit], groups: Iterable[list[int]]) -> None:
        commands = [self._commands.take_back([hits[place] for place in group]) for group in groups]
        await asyncio.gather(*map(self._pipeline.call, commands))


def _by_caller(hits: Sequence[Hit]) -> Iterator[list[int]]:
    places: dict[str, list[int]] = {}
    for place, hit in enumerate(hits):
        places.setdefault(hit.caller, []).append(place)
    yield from places.values()
