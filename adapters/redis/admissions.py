"""Rate limits and token versions in Redis, one round trip per request. Without Redis each process counts separately."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from itertools import islice
from typing import Any

from adapters.redis.lease import Lease
from adapters.redis.shared_pipeline import Away
from adapters.redis.spread_admissions import SpreadAdmissions
from application.ports.shared_memory import Admission, Admissions, KnownVersions, PresentedToken
from domain.errors import Error, SerializationConflict, ServiceUnavailable
from domain.limits import CountedHit, Hit, Verdict, verdict_of

AT_ONCE = 500
"""Maximum subjects of a command, so that it does not delay other commands."""

AGAIN_AFTER = 0.05
"""Seconds before a new version is sent again after Redis did not accept it."""


class RedisAdmissions:
    """Admissions shared by all processes.

    Versions are valid only during a short lease on the answering server. Its renewal first checks the database for
    changes unknown to Redis. A process that cannot report a change to Redis answers only after all earlier leases have
    ended. If Redis is unavailable, ``fallback`` counts the requests of this process. See docs/decisions/0002.

    With ``keeps_count``, the fallback always counts, and refuses requests that Redis admits beyond a limit: after a
    failover, a server may not know the last requests. See docs/decisions/0003.
    """

    def __init__(
        self,
        lease: Lease,
        fallback: Admissions,
        *,
        keeps_count: bool = False,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._lease = lease
        self._pipeline = lease.pipeline
        self._commands = lease.commands
        self._fallback = fallback
        self._keeps_count = keeps_count
        self._pause = pause
        self._spread = SpreadAdmissions(lease.pipeline, lease.commands) if lease.commands.is_spread else None

    def kept(self) -> AbstractAsyncContextManager[None]:
        """Renew the lease, in turn with other processes, while the context is open."""
        return self._lease.kept()

    async def renew(self) -> bool:
        """Run one turn of the renewal."""
        await self._lease.clear()
        return await self._lease.renew()

    async def admit(self, hits: Sequence[Hit], presented: PresentedToken | None) -> Admission:
        try:
            now, counted, values, is_dead = await self._admitted(hits, presented)
        except Away:
            # Without Redis the process does not know the versions. Return None for them, so that the caller asks the
            # database.
            admission = await self._fallback.admit(hits, None)
            return Admission(admission.verdicts, None)
        if presented is None:
            return Admission(await self._bounded(hits, _verdicts(hits, counted, now)), {})
        if is_dead:
            hits = presented.instead
        verdicts = await self._bounded(hits, _verdicts(hits, counted, now))
        return Admission(verdicts, *_certain_versions(presented.issued, values), bool(is_dead))

    async def alive(self, issued: Sequence[Mapping[str, int]]) -> KnownVersions:
        lowest: dict[str, int] = {}
        for subject, version in (each for versions in issued for each in versions.items()):
            lowest[subject] = min(version, lowest.get(subject, version))
        named = iter(lowest.items())
        asked = [PresentedToken(dict(islice(named, AT_ONCE)), ()) for _ in range(0, len(lowest), AT_ONCE)]
        try:
            # The pipeline sends all commands in one round trip.
            answers = await asyncio.gather(*(self._pipeline.call(self._commands.admit((), token)) for token in asked))
        except Away:
            return KnownVersions({})
        known: dict[str, int] = {}
        tickets = list[str]()
        for token, (_, _, values, _) in zip(asked, answers, strict=True):
            versions, ticket = _certain_versions(token.issued, values)
            known |= versions or {}
            tickets += [] if ticket is None else [ticket]
        return KnownVersions(known, next(iter(tickets), None))

    async def recount(self, counted: Sequence[Hit], instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        """Undo the counted hits and count the others, in one round trip."""
        try:
            now, numbers = await self._recounted(counted, instead)
        except Away:
            return await self._fallback.recount(counted, instead)
        if self._keeps_count:
            await self._fallback.recount(counted, ())
        return await self._bounded(instead, _verdicts(instead, numbers, now))

    async def _bounded(self, hits: Sequence[Hit], verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
        """Return Redis's verdicts, or those of this process if its own count exceeds a limit."""
        if not self._keeps_count or not all(verdict.allowed for verdict in verdicts):
            return verdicts
        own = (await self._fallback.admit(hits, None)).verdicts
        if all(verdict.allowed for verdict in own):
            return verdicts
        with suppress(Away):
            await self._recounted(hits, ())
        return own

    async def _admitted(self, hits: Sequence[Hit], presented: PresentedToken | None) -> Any:
        if self._spread is not None:
            return await self._spread.admit(hits, presented)
        return await self._pipeline.call(self._commands.admit(hits, presented))

    async def _recounted(self, counted: Sequence[Hit], instead: Sequence[Hit]) -> tuple[int, Sequence[int]]:
        if self._spread is not None:
            return await self._spread.recount(counted, instead)
        take_back = self._pipeline.call(self._commands.take_back(counted))
        count = self._pipeline.call(self._commands.admit(instead, None))
        _, (now, numbers, _, _) = await asyncio.gather(take_back, count)
        return now, numbers

    async def remember(self, versions: Mapping[str, int], ticket: str) -> None:
        try:
            await self._pipeline.call(self._commands.remember(versions, ticket))
        except Away:
            return

    @asynccontextmanager
    async def publishing(self, subjects: Sequence[str]) -> AsyncIterator[dict[str, int]]:
        """Run the block even if Redis is unavailable; on exit, wait until no process can accept the old versions.

        Only an error that proves that nothing changed removes the mark of the pending change. Otherwise, as after an
        unconfirmed commit, the mark remains until it expires.
        """
        nonce, pending = self._commands.nonce(), tuple(dict.fromkeys(subjects))
        await self._begin(nonce, pending)
        versions: dict[str, int] = {}
        try:
            yield versions
        except SerializationConflict:  # rolled back; the retry sets its own mark
            await self._publish(nonce, pending, {})
            raise
        except ServiceUnavailable:  # perhaps committed: the mark stays
            raise
        except Error:
            await self._publish(nonce, pending, {})
            raise
        await self._publish_or_wait(nonce, pending, versions)

    async def is_shared(self) -> bool:
        try:
            await self._pipeline.call(self._commands.look())
        except Away:
            return False
        return True

    async def _begin(self, nonce: str, subjects: Sequence[str]) -> None:
        try:
            await self._pipeline.call(self._commands.begin(nonce, subjects))
        except Away:
            return

    async def _publish_or_wait(self, nonce: str, subjects: Sequence[str], versions: Mapping[str, int]) -> None:
        """Publish in Redis, or wait until leases that missed the change have ended."""
        left = self._lease.times.until_known
        while not await self._publish(nonce, subjects, versions):
            # Nothing was bumped, or all earlier leases have expired.
            if not versions or left <= 0:
                return
            await self._pause(AGAIN_AFTER)
            left -= AGAIN_AFTER
        self._lease.published(versions)

    async def _publish(self, nonce: str, subjects: Sequence[str], versions: Mapping[str, int]) -> bool:
        try:
            await self._pipeline.call(self._commands.publish(nonce, subjects, versions))
        except Away:
            return False
        return True


def _verdicts(hits: Sequence[Hit], counted: Sequence[int], now: int) -> tuple[Verdict, ...]:
    """Return the verdicts; ``counted`` has four numbers of each hit: allowed, length, oldest and leaver."""
    verdicts = list[Verdict]()
    for at, hit in enumerate(hits):
        allowed, length, oldest, leaver = counted[4 * at : 4 * at + 4]
        verdicts.append(verdict_of(hit.limit, CountedHit(bool(allowed), length, oldest or None, leaver or None), now))
    return tuple(verdicts)


def _certain_versions(
    issued: Mapping[str, int], values: Sequence[bytes | None]
) -> tuple[Mapping[str, int] | None, str | None]:
    """Return the versions if all are certain; return a ticket if some are unknown and none is pending."""
    if not values:  # the token's versions are current, or it has none
        return issued, None
    generation, epoch, *numbers = values
    if generation is None:
        return None, None
    known: dict[str, int] = {}
    for subject, value in zip(issued, numbers, strict=True):
        if value is None:
            continue
        if value.startswith(b"?"):  # a change is under way: only the database knows
            return None, None
        of, _, number = value.partition(b":")
        if of == generation:
            known[subject] = int(number)
    return (known, None) if len(known) == len(issued) else (None, epoch.decode() if epoch else None)
