"""The feed: the changes of rows that a caller may read, page by page."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import Struct

from application.entities.changes.evaluation import Evaluation
from application.ports.database import Database
from application.ports.entities.changes import ChangesTransaction, Heads, LogEntry
from domain.entities.changes.asking import Asked
from domain.entities.changes.cursors import FeedCursor, short_epoch, write_feed_cursor
from domain.entities.changes.seeing import Interest, SeenChange
from domain.entities.declaration import Registry
from domain.errors import BadRequest, CursorExpired
from domain.scope import Caller, OneTenant, Scope

MOST_EXAMINED = 5_000
"""Maximum positions that a page examines."""
LOOKED_EVERY = 0.5
"""Seconds between two looks for new entries while a caller waits."""

Interests = Mapping[str, Interest]
"""What a reader follows, by the entity's plural."""


class FeedEvent(Struct, frozen=True):
    entry: LogEntry
    seen: SeenChange


class FeedPage(Struct, frozen=True):
    """Events in order, and the cursor after all examined entries; ``has_more`` entries follow."""

    events: Sequence[FeedEvent]
    cursor: str
    has_more: bool


@dataclass(frozen=True)
class Following:
    """The feed. ``ensure_alive`` raises the error of a caller with a revoked token or changed permissions."""

    database: Database[ChangesTransaction]
    registry: Registry
    ensure_alive: Callable[[Caller], Awaitable[None]]

    async def cursor(self, scope: OneTenant) -> str:
        """Return the cursor of this moment."""
        return (await self._page(scope, {}, Asked())).cursor

    async def page(self, caller: Caller, scope: Scope, interests: Interests, asked: Asked) -> FeedPage:
        """Return the events after the cursor, or without one the cursor of this moment.

        Raises BadRequest for the scope of every tenant and for a cursor ahead of the log, CursorExpired, and the error
        of a caller who lost access during the wait.
        """
        if not isinstance(scope, OneTenant):
            raise BadRequest("The feed is read in one tenant at a time.")
        page = await self._page(scope, interests, asked)
        if asked.after is None:
            return page
        loop = asyncio.get_running_loop()
        until = loop.time() + asked.wait
        # No connection is occupied between two looks.
        while not (page.events or page.has_more) and loop.time() < until:
            await asyncio.sleep(min(LOOKED_EVERY, until - loop.time()))
            # Security: the request was admitted before the wait. Check the caller before each read.
            await self.ensure_alive(caller)
            page = await self._page(scope, interests, asked)
        return page

    async def _page(self, scope: OneTenant, interests: Interests, asked: Asked) -> FeedPage:
        async with self.database.read_only(scope) as read:
            epoch, heads = short_epoch(await read.changes.epoch()), await read.changes.heads()
            after = asked.after
            if after is None:
                return FeedPage((), write_feed_cursor(FeedCursor(epoch, heads.own, heads.shared)), has_more=False)
            _ensure_current(after, epoch, heads)
            own = await read.changes.after(
                "own", after.own, min(heads.own, after.own + MOST_EXAMINED), asked.limit, list(interests)
            )
            events = await self._seen(read, scope, interests, own.entries)
            reached = after.shared
            if left := asked.limit - len(events):
                end = min(heads.shared, after.shared + MOST_EXAMINED)
                shared = await read.changes.after("shared", after.shared, end, left, list(interests))
                events += await self._seen(read, scope, interests, shared.entries)
                reached = shared.reached
        cursor = write_feed_cursor(FeedCursor(epoch, own.reached, reached))
        return FeedPage(events, cursor, has_more=own.reached < heads.own or reached < heads.shared)

    async def _seen(
        self, read: ChangesTransaction, scope: OneTenant, interests: Interests, entries: Sequence[LogEntry]
    ) -> list[FeedEvent]:
        found = await Evaluation(read, scope, self.registry, interests).seen(entries)
        return [FeedEvent(entry, seen) for entry, seen in zip(entries, found, strict=True) if seen is not None]


def _ensure_current(after: FeedCursor, epoch: str, heads: Heads) -> None:
    if after.epoch != epoch:
        raise CursorExpired
    if after.own > heads.own or after.shared > heads.shared:
        raise BadRequest("The cursor is ahead of the log: use the cursor of a response or of a stream.")
