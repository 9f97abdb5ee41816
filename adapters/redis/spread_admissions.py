"""Admissions in a cluster: versions in one slot, the limits of each caller in another, asked in one round trip."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from adapters.redis.commands import Commands
from adapters.redis.shared_pipeline import SharedPipeline
from application.ports.shared_memory import PresentedToken
from domain.limits import Hit


class Counted(NamedTuple):
    """The time of the server, and what became of hits that it counted.

    ``numbers`` are four for each hit, as ADMIT answers them: allowed, length, oldest or 0, when one leaves or 0.
    """

    now: int
    numbers: list[int]

    @property
    def is_allowed(self) -> bool:
        return all(self.numbers[::4])


class SpreadAdmissions:
    """Admissions in a cluster: the work of the script ADMIT, in steps of one slot each.

    The commands of a step leave together: nodes are asked at the same time, and commands for one node share a round
    trip. Between two steps others may see a hit that is taken back an instant later. They may be refused for it; nobody
    is let through beyond a limit.
    """

    def __init__(self, pipeline: SharedPipeline, commands: Commands) -> None:
        self._pipeline = pipeline
        self._commands = commands

    async def admit(
        self, hits: Sequence[Hit], presented: PresentedToken | None
    ) -> tuple[int, list[int], Sequence[Any], int]:
        """The answer of ADMIT: now, the numbers of the hits, the values of the versions, 1 for a dead token.

        Raises Away.
        """
        if presented is None or not presented.issued:
            return (*await self._counted(hits), (), 0)
        # Without the hits that would count instead: their keys lie in other slots.
        versions = self._pipeline.call(self._commands.admit((), PresentedToken(presented.issued, ())))
        counted, (_, _, values, dead) = await asyncio.gather(self._count(hits), versions)
        if dead:
            # The hits were counted before the token was known to be dead: others count in their place.
            await self._take_back(hits, counted)
            return (*await self._counted(presented.instead), values, dead)
        return (*await self._all_or_none(hits, counted), values, dead)

    async def recount(self, before: Sequence[Hit], instead: Sequence[Hit]) -> Counted:
        """Takes back hits that were counted, and counts others. Raises Away."""
        _, counted = await asyncio.gather(self._pop(before, _by_caller(before)), self._count(instead))
        return await self._all_or_none(instead, counted)

    async def _counted(self, hits: Sequence[Hit]) -> Counted:
        return await self._all_or_none(hits, await self._count(hits))

    async def _all_or_none(self, hits: Sequence[Hit], counted: Counted) -> Counted:
        return counted if counted.is_allowed else await self._take_back(hits, counted)

    async def _count(self, hits: Sequence[Hit]) -> Counted:
        """Counts the hits of each caller, all of a caller's or none."""
        groups = list(_by_caller(hits))
        commands = [self._commands.admit([hits[place] for place in group], None) for group in groups]
        answers = await asyncio.gather(*map(self._pipeline.call, commands))
        numbers = [0] * (4 * len(hits))
        for group, (_, counted, _, _) in zip(groups, answers, strict=True):
            for at, place in enumerate(group):
                numbers[4 * place : 4 * place + 4] = counted[4 * at : 4 * at + 4]
        # Nodes have clocks of their own; the latest makes nobody come back too early.
        return Counted(max((answer[0] for answer in answers), default=0), numbers)

    async def _take_back(self, hits: Sequence[Hit], counted: Counted) -> Counted:
        """Numbers after the callers that were counted are so no more; the others never were."""
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
    """Places of the hits of each caller."""
    places: dict[str, list[int]] = {}
    for place, hit in enumerate(hits):
        places.setdefault(hit.caller, []).append(place)
    yield from places.values()
