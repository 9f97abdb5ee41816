"""LogWriter: log lines on their way from the loop to standard error, rendered and written by a thread."""

import logging
import os
import select
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler, QueueListener
from queue import Empty, SimpleQueue
from typing import Any

from structlog.typing import EventDict, Processor

from entrypoints.server.logging.setup import event

GATHERED = 0.05
"""Seconds that lines wait for others to be written with: waking the thread for each line would slow the loop."""
PIECE = 4096
"""Bytes that a pipe takes whole: lines of several processes do not break into each other."""
BEHIND = 10_000
"""Lines that may wait for a reader that is slow; those beyond are lost, and counted."""
STANDARD_ERROR = 2
PATIENCE = 5.0
"""Seconds that the end of the service waits for a reader that takes nothing."""
LOST = "log lines were lost, because nobody took them"

Line = EventDict | str
"""An event that the thread renders, or a line that its logger has rendered already."""


class LogWriter(QueueListener):
    """Lines are put by the loop and written by a thread. Whatever comes before ``start`` waits for it; whatever comes
    after ``close`` is written at once."""

    queue: "SimpleQueue[Any]"

    def __init__(
        self,
        rendering: Sequence[Processor],
        descriptor: int = STANDARD_ERROR,
        *,
        gathered: float = GATHERED,
        patience: float = PATIENCE,
    ) -> None:
        super().__init__(SimpleQueue())
        self._rendering, self._descriptor = rendering, descriptor
        self._gathered, self._patience = gathered, patience
        self._taken: deque[Any] = deque()
        self._lines: list[bytes] = []
        self._lost = 0
        self._is_running = self._is_closed = False
        self.is_stuck = False

    def put(self, line: Line) -> None:
        """Never waits: with too many lines behind, or a reader that takes nothing at the end, this one is lost."""
        if self.is_stuck or self.queue.qsize() >= BEHIND:
            self._lost += 1
        elif self._is_closed:
            _write(self._descriptor, [self._rendered(line)])
        else:
            self.queue.put(line)

    def start(self) -> None:
        """Begins the thread, in the process that it belongs to: a fork has no threads of its parent's."""
        self._is_running = True
        super().start()

    def close(self) -> None:
        """Returns when all that came is written; or after a while, when nobody reads it. Then the rest is lost."""
        if self._is_running:
            # stop() waits for its thread without bound: for as long as somebody holds the pipe and reads nothing.
            stopping = threading.Thread(target=self.stop, name="end of the log", daemon=True)
            stopping.start()
            stopping.join(self._patience)
            self.is_stuck = stopping.is_alive()
        self._is_closed = True

    def dequeue(self, block: bool) -> Any:  # as QueueListener calls it
        """The next line; before waiting for one, all that were handled are written together."""
        if not self._taken:
            self._flush()
            self._taken.append(self.queue.get(block))
            time.sleep(self._gathered)
            with suppress(Empty):
                while True:
                    self._taken.append(self.queue.get_nowait())
        line = self._taken.popleft()
        if not isinstance(line, dict | str):  # the end: nothing comes behind it
            self._flush()
        return line

    def handle(self, record: Any) -> None:
        self._lines.append(self._rendered(record))

    def _flush(self) -> None:
        lines, self._lines = self._lines, []
        self._written(lines)
        if self._lost:
            lost, self._lost = self._lost, 0
            self._written([self._rendered(event(LOST, __name__, lost=lost))])

    def _written(self, lines: Sequence[bytes]) -> None:
        if not self.is_stuck:  # else the end has come, and the descriptor may be somebody else's by now
            _write(self._descriptor, lines)

    def _rendered(self, line: Line) -> bytes:
        rendered: Any = line
        if not isinstance(line, str):
            for processor in self._rendering:
                rendered = processor(None, "", rendered)
        encoded: bytes = rendered.encode(errors="backslashreplace")
        return encoded


class BesideTheLoop(QueueHandler):
    """The standard library's records, rendered where they are made and written by a LogWriter."""

    def __init__(self, writer: LogWriter, formatter: logging.Formatter | None) -> None:
        super().__init__(writer.queue)
        self.writer = writer
        self.setFormatter(formatter)

    def prepare(self, record: logging.LogRecord) -> Any:
        return self.format(record)

    def enqueue(self, record: Any) -> None:
        self.writer.put(record)


@contextmanager
def written_beside(writer: LogWriter) -> Iterator[None]:
    """While it is entered, no line of this process waits for the log's reader; when it is left, all are written."""
    root = logging.getLogger()
    before = list(root.handlers)
    for handler in before:
        root.removeHandler(handler)
        root.addHandler(BesideTheLoop(writer, handler.formatter))
    writer.start()
    try:
        yield
    finally:
        writer.close()
        if not writer.is_stuck:  # else whatever is logged from now on would wait for the reader, and the end with it
            root.handlers[:] = before


def _write(descriptor: int, lines: Sequence[bytes]) -> None:
    # Nobody reads any more: the lines are lost, and the service goes on.
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
        except BlockingIOError:  # another process has made the terminal or the pipe it shares with us non-blocking
            select.select([], [descriptor], [])
