"""The feed: the changes of rows that a caller may read, page by page."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from application.entities.changes.arrivals import Arrivals
from application.entities.changes.evaluation import Evaluation, evaluated
from application.ports.database import Database
from application.ports.entities.changes import ChangesTransaction, Heads, LogEntry, Stream
from domain.entities.changes.asking import Asked
from domain.entities.changes.cursors import FeedCursor, short_epoch, write_feed_cursor
from domain.entities.changes.seeing import Interest, SeenChange
from domain.entities.declaration import Registry
from domain.errors import BadRequest, CursorExpired
from domain.scope import Caller, OneTenant, Scope

MOST_EXAMINED = 5_000
"""Maximum positions of both streams that a page examines."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.8
"""Minimum seconds between two looks for new entries while a caller waits. Each look without events doubles them."""

Interests = Mapping[str, Interest]
"""What a reader follows, by the entity's plural."""


class FeedEvent(Struct, frozen=True):
    """An event, and the cursor of a reader who has seen the event."""

    entry: LogEntry
    seen: SeenChange
    at: FeedCursor


class FeedPage(Struct, frozen=True):
    """Events in order, and the cursor after all examined entries; ``has_more`` entries follow."""

    events: Sequence[FeedEvent]
    at: FeedCursor
    has_more: bool

    @property
    def cursor(self) -> str:
        return write_feed_cursor(self.at)


@dataclass(frozen=True)
class Following:
    """The feed. ``ensure_alive`` raises the error of a caller with a revoked token or changed permissions."""

    database: Database[ChangesTransaction]
    registry: Registry
    ensure_alive: Callable[[Caller], Awaitable[None]]
    arrivals: Arrivals

    async def cursor(self, scope: OneTenant) -> str:
        """Return the cursor of this moment."""
        return (await self.read(scope, {}, Asked())).cursor

    async def page(self, caller: Caller, scope: Scope, interests: Interests, asked: Asked) -> FeedPage:
        """Return the events after the cursor, or without one the cursor of this moment.

        Raises BadRequest for the scope of every tenant and for a cursor ahead of the log, CursorExpired, and the error
        of a caller who lost access during the wait.
        """
        tenant = ensure_one_tenant(scope)
        page = await self.read(tenant, interests, asked)
        if asked.after is None or not asked.wait or page.events or page.has_more:
            return page
        return await self._awaited(caller, tenant, interests, asked)

    async def _awaited(self, caller: Caller, scope: OneTenant, interests: Interests, asked: Asked) -> FeedPage:
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + asked.wait, FIRST_PAUSE
        with self.arrivals.of(scope.id) as arrived:
            # No connection is occupied between two looks.
            while True:
                # Security: the request was admitted before the wait. Check the caller before each read.
                await self.ensure_alive(caller)
                arrived.clear()
                page = await self.read(scope, interests, asked)
                if page.events or page.has_more or loop.time() >= until:
                    return page
                await asyncio.sleep(min(pause, until - loop.time()))
                pause = min(2 * pause, LONGEST_PAUSE)
                await _first_of(arrived, until)

    async def read(self, scope: OneTenant, interests: Interests, asked: Asked) -> FeedPage:
        """Return what ``page`` returns at this moment."""
        async with self.database.read_only(scope) as read:
            heads = await read.changes.heads()
            epoch = short_epoch(heads.epoch)
            after = asked.after
            if after is None:
                return FeedPage((), FeedCursor(epoch, heads.own, heads.shared), has_more=False)
            _ensure_current(after, epoch, heads)
            own = await read.changes.after(
                "own", after.own, min(heads.own, after.own + MOST_EXAMINED), asked.limit, list(interests)
            )
            evaluation = Evaluation(scope, self.registry, interests)
            events = await _seen(read, evaluation, "own", own.entries, after)
            reached = after.shared
            if left := asked.limit - len(events):
                end = min(heads.shared, after.shared + MOST_EXAMINED - (own.reached - after.own))
                shared = await read.changes.after("shared", after.shared, end, left, list(interests))
                events += await _seen(
                    read, evaluation, "shared", shared.entries, FeedCursor(epoch, own.reached, after.shared)
                )
                reached = shared.reached
        at = FeedCursor(epoch, own.reached, reached)
        return FeedPage(events, at, has_more=own.reached < heads.own or reached < heads.shared)


def ensure_one_tenant(scope: Scope) -> OneTenant:
    """Raise BadRequest for the scope of every tenant."""
    if not isinstance(scope, OneTenant):
        raise BadRequest("The feed is read in one tenant at a time.")
    return scope


def moved(cursor: FeedCursor, stream: Stream, position: int) -> FeedCursor:
    """Return the cursor at another position of one of its streams."""
    is_own = stream == "own"
    return FeedCursor(cursor.epoch, position if is_own else cursor.own, cursor.shared if is_own else position)


async def _seen(
    read: ChangesTransaction, evaluation: Evaluation, stream: Stream, entries: Sequence[LogEntry], after: FeedCursor
) -> list[FeedEvent]:
    found = zip(entries, await evaluated(read, evaluation, entries), strict=True)
    return [FeedEvent(entry, seen, moved(after, stream, entry.position)) for entry, seen in found if seen is not None]


async def _first_of(arrived: asyncio.Event, until: float) -> None:
    """Wait for the event, and no longer than until this time of the loop."""
    try:
        async with asyncio.timeout_at(until):
            await arrived.wait()
    except TimeoutError:
        return


def _ensure_current(after: FeedCursor, epoch: str, heads: Heads) -> None:
    if after.epoch != epoch:
        raise CursorExpired
    if after.own > heads.own or after.shared > heads.shared:
        raise BadRequest("The cursor is ahead of the log: use the cursor of a response or of a stream.")
