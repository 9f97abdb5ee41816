"""The open streams of this process: their number is limited, and none outlives its rights."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from application.entities.changes.following import Following, Interests, ensure_one_tenant
from application.entities.changes.streams.open_stream import OpenStream, StreamReader, StreamTexts
from application.entities.changes.streams.tail import Tail
from application.entities.changes.streams.tenant_reader import ReaderParts, TenantReader
from application.ports.runtime import Clock
from application.throttle import Throttle
from domain.entities.changes.asking import Asked
from domain.entities.changes.cursors import FeedCursor
from domain.errors import CursorExpired, RateLimited, ServiceUnavailable
from domain.scope import Caller, OneTenant, Scope, tenant_subject

log = logging.getLogger(__name__)

KEY_STREAMS_LAST = timedelta(minutes=60)
CHECKED_EVERY = 2.5
CHECKED_WITHIN = 2.0
"""Seconds for a check of rights. It and CHECKED_EVERY are less than 5: no stream outlives its rights longer."""
LOOKED_EVERY = 0.5
PAUSED_AFTER = 15.0
"""Seconds without an event after which the client receives a text that keeps the connection open."""
READ_AT_ONCE = 200
ALL = "all"
RETRY_AFTER = 5
"""Seconds after which a refused client may try again."""


class StreamLimits(Struct, frozen=True):
    """Maximum open streams in this process: of a caller, of a tenant, and of all."""

    of_caller: int = 20
    of_tenant: int = 200
    of_process: int = 1_000


class Streams:
    def __init__(
        self,
        following: Following,
        throttle: Throttle,
        clock: Clock,
        texts: StreamTexts,
        limits: StreamLimits,
    ) -> None:
        self._following = following
        self._throttle = throttle
        self._clock = clock
        self._texts = texts
        self._limits = limits
        self._open: set[OpenStream] = set()
        self._counts: Counter[str] = Counter()
        self._readers: dict[UUID, tuple[TenantReader, asyncio.Task[None]]] = {}
        self._watching: asyncio.Task[None] | None = None
        self._is_ending = False
        self._parts = ReaderParts(
            database=following.database,
            registry=following.registry,
            arrivals=following.arrivals,
            texts=texts,
            ensure_alive=self._ensure_alive,
        )

    @property
    def count(self) -> int:
        return len(self._open)

    async def pieces(
        self, caller: Caller, scope: Scope, interests: Interests, after: FeedCursor | None
    ) -> AsyncGenerator[bytes, None]:
        """Yield texts of a stream after the cursor, or of new events without one.

        Raises the errors of the feed, RateLimited for too many streams of the caller or the tenant, and
        ServiceUnavailable for too many in the process.
        """
        tenant = ensure_one_tenant(scope)
        with self._counted(caller, tenant):
            reader = await self._reader_of(caller, tenant, interests)
            at = after or (await self._following.read(tenant, interests, Asked())).at
            stream = OpenStream(reader, self._texts, at, asyncio.get_running_loop().time())
            with self._watched(stream):
                opening = self._texts.opening(at)
                # An error before the first text is the answer to the request.
                async for piece in self._missed(stream):
                    yield opening + piece
                    opening = b""
                if opening:
                    yield opening
                while piece := await stream.next():
                    yield piece

    def end_all(self) -> None:
        """End all streams, because the process ends. The clients resume at another process, or after the restart."""
        self._is_ending = True
        for stream in [*self._open]:
            stream.end("moved")

    async def _missed(self, stream: OpenStream) -> AsyncGenerator[bytes, None]:
        """Yield the events after the stream's position, until the tenant's reader delivers the next ones."""
        is_first = True
        while stream.ending is None:
            reader = self._reader(stream.reader.scope)
            if reader is not None and reader.join(stream):
                return
            try:
                piece, stream.at = await self._next(stream, reader)
            except (CursorExpired, ServiceUnavailable) as error:
                if is_first:
                    raise
                # The client resumes, and receives the error as an answer.
                stream.end("behind" if isinstance(error, CursorExpired) else "moved")
                return
            # Security: as after each read of the tenant's reader.
            await self._ensure_alive([stream])
            if piece and stream.ending is None:
                is_first = False
                yield piece

    async def _next(self, stream: OpenStream, reader: TenantReader | None) -> tuple[bytes, FeedCursor]:
        """Return the text of the next events, and the position after them."""
        found = None if reader is None else await reader.missed(stream, READ_AT_ONCE)
        if found is not None:
            return b"".join(event.text for event in found[0]), found[1]
        scope, texts = stream.reader.scope, self._texts
        page = await self._following.read(scope, stream.reader.interests, Asked(after=stream.at, limit=READ_AT_ONCE))
        if reader is None and not page.has_more:
            self._begin(scope, page.at)
        return b"".join(texts.cursor(each.at) + texts.event(each.entry, each.seen) for each in page.events), page.at

    async def _reader_of(self, caller: Caller, scope: OneTenant, interests: Interests) -> StreamReader:
        issued: Mapping[str, int] = caller.issued
        if caller.tenant_id != scope.id:
            # A super-admin's token does not name the other tenant, and its end must end the stream.
            subject = tenant_subject(scope.id)
            issued = {**issued, subject: (await self._throttle.versions([subject]))[subject]}
        last = (self._clock.now() + KEY_STREAMS_LAST).timestamp()
        is_long = caller.kind == "service" and last < caller.expires_at
        return StreamReader(
            counted_as=caller.counted_as,
            scope=scope,
            interests=interests,
            issued=issued,
            ends_at=last if is_long else caller.expires_at,
            ends_as="moved" if is_long else "expired",
        )

    @contextmanager
    def _counted(self, caller: Caller, tenant: OneTenant) -> Iterator[None]:
        of_caller, of_tenant = caller.counted_as, f"tenant:{tenant.id}"
        counts, limits = self._counts, self._limits
        if self._is_ending or counts[ALL] >= limits.of_process:
            raise ServiceUnavailable("This process has too many open streams: try again shortly.")
        if counts[of_caller] >= limits.of_caller or counts[of_tenant] >= limits.of_tenant:
            raise RateLimited(RETRY_AFTER, "Too many streams are open: close one first.")
        names = (ALL, of_caller, of_tenant)
        counts.update(names)
        try:
            yield
        finally:
            counts.subtract(names)
            for name in names:
                if not counts[name]:
                    del counts[name]

    @contextmanager
    def _watched(self, stream: OpenStream) -> Iterator[None]:
        self._open.add(stream)
        if self._watching is None or self._watching.done():
            # An empty context: the task is not a part of this request.
            self._watching = asyncio.get_running_loop().create_task(self._watch(), context=Context())
        try:
            yield
        finally:
            self._open.discard(stream)
            self._leave(stream)

    def _leave(self, stream: OpenStream) -> None:
        tenant_id = stream.tenant_id
        if (found := self._readers.get(tenant_id)) is not None:
            reader, task = found
            reader.leave(stream)
            if not any(other.tenant_id == tenant_id for other in self._open):
                task.cancel()
                del self._readers[tenant_id]

    def _reader(self, scope: OneTenant) -> TenantReader | None:
        found = self._readers.get(scope.id)
        return None if found is None or found[1].done() else found[0]

    def _begin(self, scope: OneTenant, at: FeedCursor) -> None:
        if self._reader(scope) is None:
            tail = Tail(at, self._parts.followed)
            reader = TenantReader(OneTenant(scope.id), self._parts, tail)
            task = asyncio.get_running_loop().create_task(reader.run(), context=Context())
            self._readers[scope.id] = reader, task

    async def _watch(self) -> None:
        """Check the rights of all streams at intervals, and keep the connections open."""
        try:
            await self._keep_watching()
        except Exception:
            # Security: without checks, no stream may stay open.
            log.exception("The rights of open streams could not be checked.")
            for stream in [*self._open]:
                stream.end("moved")

    async def _keep_watching(self) -> None:
        loop = asyncio.get_running_loop()
        checked = loop.time()
        while self._open:
            await asyncio.sleep(LOOKED_EVERY)
            now, at = loop.time(), self._clock.now()
            for stream in [*self._open]:
                self._end_if_over(stream, at)
                if now - stream.sent_at >= PAUSED_AFTER:
                    stream.pause()
                    stream.sent_at = now
            if now - checked >= CHECKED_EVERY:
                checked = now
                await self._ensure_alive([*self._open])

    async def _ensure_alive(self, streams: Collection[OpenStream]) -> None:
        """End the streams that have lost their rights. If the rights are unknown, end all of the streams."""
        at = self._clock.now()
        for stream in streams:
            self._end_if_over(stream, at)
        checked = [stream for stream in streams if stream.ending is None]
        if not checked:
            return
        for stream, is_alive in zip(checked, await self._alive(checked), strict=True):
            if is_alive is not True:
                stream.end("moved" if is_alive is None else "revoked")

    async def _alive(self, streams: Sequence[OpenStream]) -> Sequence[bool | None]:
        try:
            async with asyncio.timeout(CHECKED_WITHIN):
                return await self._throttle.alive([stream.reader.issued for stream in streams])
        except (ServiceUnavailable, TimeoutError):
            # Security: no stream stays open while revocation cannot be checked.
            return [None] * len(streams)

    def _end_if_over(self, stream: OpenStream, at: datetime) -> None:
        if at.timestamp() >= stream.reader.ends_at:
            stream.end(stream.reader.ends_as)
