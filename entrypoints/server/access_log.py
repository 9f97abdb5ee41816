"""The line for every answer, written beside the loop: as JsonLines would write it, without a log record for each."""

import os
import select
import threading
import time
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from queue import Full, Queue

import msgspec
from msgspec import Struct

from adapters.http.operations import access_log
from adapters.http.operations.access_log import AccessLine, AccessLog, log_access, log_nothing
from entrypoints.server.logs import is_console
from entrypoints.settings.settings import Settings

GATHERED = 0.05
"""Seconds that lines wait for others to be written with."""
PIECE = 4096
"""Bytes that a pipe takes whole: lines of several processes do not break into each other."""
BEHIND = 64
"""How many batches may wait for a reader that is slow; then the requests wait with them, but not for ever."""
STANDARD_ERROR = 2
PATIENCE = 5.0
"""Seconds that the service, or its end, waits for a reader that takes nothing; then lines are lost until it does."""


class _Json(Struct):
    time: str
    level: str
    logger: str
    message: str
    method: str
    path: str
    status: int
    ms: float
    request_id: str
    address: str
    user_id: str | None


class AccessWriter:
    """Lines are gathered on the loop and written by a thread. Whatever comes after ``close`` is written at once."""

    def __init__(
        self, descriptor: int = STANDARD_ERROR, *, gathered: float = GATHERED, patience: float = PATIENCE
    ) -> None:
        self._descriptor = descriptor
        self._gathered, self._patience = gathered, patience
        self._encode = msgspec.json.Encoder().encode
        self._lines: list[bytes] = []
        self._batches: Queue[list[bytes] | None] = Queue(BEHIND)
        self._thread: threading.Thread | None = None
        self._is_closed = self._is_stuck = False

    def __call__(self, line: AccessLine) -> None:
        self._lines.append(self._encode(_json(line)))
        if self._is_closed and self._is_stuck:
            self._lines.clear()
        elif self._is_closed:
            _write(self._descriptor, self._taken())
        elif len(self._lines) == 1:
            self._loop().call_later(self._gathered, self._hand_over)

    def close(self) -> None:
        """Returns when all that came is written; or after a while, when nobody reads it. Then the rest is lost."""
        self._is_closed = True
        if self._thread is None:
            return
        until = time.monotonic() + self._patience
        self._hand_over()
        with suppress(Full):
            self._batches.put(None, timeout=max(0.0, until - time.monotonic()))
        self._thread.join(max(0.0, until - time.monotonic()))
        self._is_stuck = self._thread.is_alive()
        self._thread = None

    def _loop(self) -> AbstractEventLoop:
        """The thread begins with the first line, in the process that it belongs to."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._keep_writing, name="access log", daemon=True)
            self._thread.start()
        return get_running_loop()

    def _hand_over(self) -> None:
        """Waits once where too much is behind; after that, only to see whether anything was taken meanwhile."""
        if not self._lines:
            return
        try:
            self._batches.put(self._taken(), timeout=0.0 if self._is_stuck else self._patience)
            self._is_stuck = False
        except Full:
            self._is_stuck = True

    def _taken(self) -> list[bytes]:
        lines, self._lines = self._lines, []
        return lines

    def _keep_writing(self) -> None:
        while (lines := self._batches.get()) is not None:
            _write(self._descriptor, lines)


def access_writer(settings: Settings) -> AccessLog:
    """On a terminal, or where less is to be logged, as every other line."""
    if settings.log_level not in ("debug", "info"):
        return log_nothing
    return log_access if is_console(settings) else AccessWriter()


@contextmanager
def kept(log: AccessLog) -> Iterator[None]:
    """Lines may come while it is entered; when it is left, all are written."""
    try:
        yield
    finally:
        if isinstance(log, AccessWriter):
            log.close()


def _json(line: AccessLine) -> _Json:
    return _Json(
        _now(),
        "info",
        access_log.__name__,
        access_log.ANSWERED,
        line.method,
        line.path if line.path.isprintable() else ascii(line.path),
        line.status,
        round(line.took * 1000, 2),
        line.request_id,
        line.address,
        str(line.user_id) if line.user_id else None,
    )


def _now() -> str:
    second, fraction = divmod(time.time_ns(), 1_000_000_000)
    return f"{_second(second)}.{fraction // 1_000_000:03}Z"


@lru_cache(2)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _write(descriptor: int, lines: Sequence[bytes]) -> None:
    """Nobody reads any more: the lines are lost, and the service goes on."""
    with suppress(OSError):
        for piece in _pieces(lines):
            _write_whole(descriptor, piece)


def _pieces(lines: Sequence[bytes]) -> Iterator[bytes]:
    piece: list[bytes] = []
    size = 0
    for line in lines:
        if piece and size + len(line) + 1 > PIECE:
            yield b"".join(piece)
            piece, size = [], 0
        piece += (line, b"\n")
        size += len(line) + 1
    if piece:
        yield b"".join(piece)


def _write_whole(descriptor: int, piece: bytes) -> None:
    while piece:
        try:
            piece = piece[os.write(descriptor, piece) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
