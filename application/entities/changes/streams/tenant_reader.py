"""Reader of one tenant's log: it reads each entry once, and delivers the events to the tenant's open streams."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from application.entities.changes.arrivals import Arrivals
from application.entities.changes.evaluation import Evaluation, evaluated
from application.entities.changes.streams.groups import FeedView, StreamGroup, Written, slices
from application.entities.changes.streams.open_stream import Ending, OpenStream, StreamReader, StreamTexts
from application.entities.changes.streams.tail import Placed, Tail, is_at
from application.ports.database import ASKED_BY, Database
from application.ports.entities.changes import ChangesTransaction, LogEntry, Stream
from domain.entities.changes.cursors import FeedCursor
from domain.entities.changes.feeds import IDENTITY_ENTITIES
from domain.entities.changes.seeing import Interest, SeenChange
from domain.entities.declaration import Registry
from domain.errors import CursorExpired, ServiceUnavailable
from domain.scope import OneTenant

log = logging.getLogger(__name__)

TRIED_AGAIN_AFTER = 1.0
SLICE_PAUSE = 0.005
"""Seconds between two parts of a large batch, in which connected clients read the first."""

Name = tuple[Interest, Stream, int]
"""Name of an event for all readers who see the same: what they follow, and the position."""


@dataclass(frozen=True, kw_only=True)
class ReaderParts:
    """What all readers of the process share. ``ensure_alive`` ends the streams that have lost their rights."""

    database: Database[ChangesTransaction]
    registry: Registry
    arrivals: Arrivals
    texts: StreamTexts
    ensure_alive: Callable[[Collection[OpenStream]], Awaitable[None]]

    @property
    def followed(self) -> list[str]:
        return [*(model.plural for model in self.registry if model.declaration.changes), *IDENTITY_ENTITIES]


@dataclass(eq=False)
class TenantReader:
    """Streams of a tenant by what they follow. The reader ends its streams if it cannot continue."""

    tenant: OneTenant
    parts: ReaderParts
    tail: Tail
    _groups: dict[tuple[object, ...], StreamGroup] = field(default_factory=dict)
    _texts: dict[Name, bytes | None] = field(default_factory=dict)
    """Texts of the events of the current batch; None for an event that is not seen."""

    def join(self, stream: OpenStream) -> bool:
        """Deliver the next events to the stream, if the stream has read as far as its group."""
        key = _key(stream.reader)
        group = self._groups.get(key)
        if not is_at(stream.at, self.tail.at if group is None else group.at):
            return False
        if group is None:
            group = self._groups[key] = StreamGroup(stream.reader, self.tail.at)
        group.streams.add(stream)
        return True

    def leave(self, stream: OpenStream) -> None:
        key = _key(stream.reader)
        if (group := self._groups.get(key)) is not None:
            group.streams.discard(stream)
            if not group.streams:
                del self._groups[key]

    async def missed(self, stream: OpenStream, most: int) -> tuple[Sequence[Written], FeedCursor] | None:
        """Return events that a resuming stream has not read, and the position after them; None if not cached."""
        if not self.tail.covers(stream.at):
            return None
        placed, at = self.tail.after(stream.at, most), self.tail.at
        view = FeedView(stream.reader.scope, stream.reader.interests)
        return await self._written(view, placed), placed[-1].at if len(placed) == most else at

    async def run(self) -> None:
        """Read and deliver until cancelled."""
        ASKED_BY.set(self.tenant.id)
        try:
            with self.parts.arrivals.of(self.tenant.id) as arrived:
                while True:
                    if not await self._turn():
                        await _set_until(arrived, self._next_due())
        except CursorExpired:
            # Clients that resume learn from the answer that they must load the rows again.
            self._end("behind")
        except Exception:
            log.exception("The changes of a tenant could not be read.")
            self._end("moved")

    async def _turn(self) -> bool:
        """Deliver some events; return whether more entries follow."""
        try:
            async with self.parts.database.read_only(self.tenant) as read:
                more = await self.tail.advance(read)
            await self._deliver()
        except ServiceUnavailable:
            # The streams stay open: the process checks their rights at intervals.
            await asyncio.sleep(TRIED_AGAIN_AFTER)
            return True
        finally:
            self._texts.clear()
        seen = [group.at for group in self._groups.values()] or [self.tail.at]
        self.tail.trim(FeedCursor(self.tail.at.epoch, min(at.own for at in seen), min(at.shared for at in seen)))
        return more

    async def _deliver(self) -> None:
        now, at = asyncio.get_running_loop().time(), self.tail.at
        batches = list[tuple[StreamGroup, Sequence[Written]]]()
        for group in [*self._groups.values()]:
            missing = self.tail.after(group.at)
            if not is_at(group.at, at) and group.is_due(now, len(missing)):
                batches.append((group, await self._written(group.view, missing)))
        # Security: after the read, so that no stream receives an event of a time after its loss of rights.
        await self.parts.ensure_alive([stream for group, events in batches if events for stream in group.streams])
        for group, events in batches:
            *parts, last = slices(events)
            for part in parts:
                group.push(part, part[-1].at, now)
                await asyncio.sleep(SLICE_PAUSE)
            group.push(last, at, now)

    async def _written(self, view: FeedView, placed: Sequence[Placed]) -> Sequence[Written]:
        """Return the texts of the events that a reader sees."""
        followed = [each for each in placed if each.entry.entity in view.interests]
        names: list[Name] = [(view.interests[each.entry.entity], each.stream, each.entry.position) for each in followed]
        # Security: limited readers with the same interest may see different links, so they share no texts.
        known = {} if view.is_limited else {name: self._texts[name] for name in names if name in self._texts}
        unknown = [(name, each.entry) for name, each in zip(names, followed, strict=True) if name not in known]
        seen = await self._seen(view, [entry for _, entry in unknown])
        for (name, entry), change in zip(unknown, seen, strict=True):
            known[name] = None if change is None else self.parts.texts.event(entry, change)
        if not view.is_limited:
            self._texts |= known
        cursor, texts = self.parts.texts.cursor, zip(followed, map(known.__getitem__, names), strict=True)
        return [Written(cursor(each.at) + text, each.at) for each, text in texts if text is not None]

    async def _seen(self, view: FeedView, entries: Sequence[LogEntry]) -> Sequence[SeenChange | None]:
        evaluation = Evaluation(view.scope, self.parts.registry, view.interests)
        if not any(map(evaluation.needs_rows, entries)):
            return await evaluation.seen(entries)
        async with self.parts.database.read_only(view.scope) as read:
            return await evaluated(read, evaluation, entries)

    def _next_due(self) -> float | None:
        behind = [group.due for group in self._groups.values() if not is_at(group.at, self.tail.at)]
        return min(behind, default=None)

    def _end(self, why: Ending) -> None:
        for stream in [stream for group in self._groups.values() for stream in group.streams]:
            stream.end(why)


def _key(reader: StreamReader) -> tuple[object, ...]:
    return (reader.scope, frozenset(reader.interests.items()))


async def _set_until(event: asyncio.Event, until: float | None) -> None:
    """Wait for the event, or until this time of the loop; then clear the event."""
    with suppress(TimeoutError):
        async with asyncio.timeout_at(until):
            await event.wait()
    event.clear()
