"""The newest entries of a tenant, in memory: readers that resume rarely need the database."""

from collections import deque
from collections.abc import Collection, Iterator
from itertools import islice, takewhile
from typing import NamedTuple

from application.entities.changes.following import moved
from application.ports.entities.changes import ChangesTransaction, LogEntry, Stream
from domain.entities.changes.cursors import FeedCursor
from domain.errors import CursorExpired

MOST_CACHED = 1_000
"""Maximum entries of each of the two streams of a tenant."""
MOST_CACHED_BYTES = 4 * 1024 * 1024
"""Maximum bytes of rows in them, except for entries that a reader has not seen."""
READ_AT_ONCE = 500


class Placed(NamedTuple):
    """An entry, and the cursor of a reader who has seen it."""

    stream: Stream
    entry: LogEntry
    at: FeedCursor


class Tail:
    """Entries from ``start`` to ``at`` without gaps. The tail begins empty, at the head of the log."""

    def __init__(self, at: FeedCursor, entities: Collection[str]) -> None:
        self.start = self.at = at
        self._entities = entities
        self._entries: dict[Stream, deque[LogEntry]] = {"own": deque(), "shared": deque()}
        self._bytes = 0

    async def advance(self, read: ChangesTransaction) -> bool:
        """Read some of the next entries; return whether more follow.

        Raises CursorExpired if entries are missing, as after a restore.
        """
        heads = await read.changes.heads()
        more = False
        for stream, head in (("own", heads.own), ("shared", heads.shared)):
            more = await self._advance(read, stream, head) or more  # type: ignore[arg-type]  # the two names of streams
        return more

    def covers(self, at: FeedCursor) -> bool:
        """Return whether all entries after the cursor are cached."""
        return at.epoch == self.at.epoch and is_at(at, self.start) and is_at(self.at, at)

    def after(self, at: FeedCursor, most: int | None = None) -> list[Placed]:
        """Return the first entries after a cursor that the tail covers; without ``most``, all of them."""
        return list(islice(self._after(at), most))

    def trim(self, seen: FeedCursor) -> None:
        """Forget the oldest entries beyond the limits, but none after ``seen``."""
        for stream, entries in self._entries.items():
            while entries and (len(entries) > MOST_CACHED or self._bytes > MOST_CACHED_BYTES):
                if entries[0].position > position_in(seen, stream):
                    break
                gone = entries.popleft()
                self._bytes -= _size(gone)
                self.start = moved(self.start, stream, gone.position)

    async def _advance(self, read: ChangesTransaction, stream: Stream, head: int) -> bool:
        reached = position_in(self.at, stream)
        if head == reached:
            return False
        if head < reached:
            raise CursorExpired
        found = await read.changes.after(
            stream, reached, min(head, reached + READ_AT_ONCE), READ_AT_ONCE, self._entities
        )
        self._entries[stream].extend(found.entries)
        self._bytes += sum(map(_size, found.entries))
        self.at = moved(self.at, stream, found.reached)
        return found.reached < head

    def _after(self, at: FeedCursor) -> Iterator[Placed]:
        for stream, entries in self._entries.items():
            seen = position_in(at, stream)
            # From the end: a reader has usually seen almost all of them.
            newer = list(takewhile(lambda entry, seen=seen: entry.position > seen, reversed(entries)))  # type: ignore[misc]
            for entry in reversed(newer):
                at = moved(at, stream, entry.position)
                yield Placed(stream, entry, at)


def is_at(cursor: FeedCursor, other: FeedCursor) -> bool:
    """Return whether a reader at the cursor has seen all that a reader at ``other`` has seen."""
    return cursor.own >= other.own and cursor.shared >= other.shared


def position_in(cursor: FeedCursor, stream: Stream) -> int:
    return cursor.own if stream == "own" else cursor.shared


def _size(entry: LogEntry) -> int:
    return len(entry.data or b"") + len(entry.was or b"")
