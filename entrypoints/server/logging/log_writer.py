"""LogWriter: log lines on their way from the loop to standard error, rendered and written by a thread."""

import logging
import os
import select
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from logging.handlers import QueueHandler, QueueListener
from queue import SimpleQueue
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
    """Renders and writes log lines in a thread, so that the loop never waits for the log's reader.

    Lines that come before ``start`` wait for it; a line that comes after ``close`` is written at once.
    """

    queue: "SimpleQueue[Any]"  # unbounded: the sentinel of stop() always has room, and put() counts

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
        self._piece = b""
        self._lost = 0
        self._is_closed = self.is_stuck = False

    def put(self, line: Line) -> None:
        """Never waits: a line is lost behind too many others, or if nobody reads the log at the end."""
        if self.is_stuck or self.queue.qsize() >= BEHIND:
            self._lost += 1
        elif self._is_closed:
            self.handle(line)
            self._flush()
        else:
            self.queue.put(line)

    def close(self) -> None:
        """Returns when all lines are written, or after ``patience``. Then the rest is lost."""
        # stop() waits for its thread without bound: for as long as somebody holds the pipe and reads nothing.
        stopping = threading.Thread(target=self.stop, name="end of the log", daemon=True)
        stopping.start()
        stopping.join(self._patience)
        self.is_stuck = stopping.is_alive()
        self._is_closed = True

    def stop(self) -> None:
        super().stop()
        self._flush()

    def dequeue(self, block: bool) -> Any:  # as QueueListener calls it
        """The next line; the thread writes what it has before it waits, and then lets lines gather."""
        if not self.queue.empty():
            return self.queue.get(block)
        self._flush()
        line = self.queue.get(block)
        time.sleep(self._gathered)
        return line

    def handle(self, record: Any) -> None:
        line = self._rendered(record)
        if len(self._piece) + len(line) > PIECE:
            self._flush()
        self._piece += line

    def _flush(self) -> None:
        if self._lost:
            lost, self._lost = self._lost, 0
            self._piece += self._rendered(event(LOST, __name__, lost=lost))
        piece, self._piece = self._piece, b""
        # Nobody reads any more: the lines are lost, and the service goes on.
        with suppress(OSError):
            while piece and not self.is_stuck:  # if it is stuck, another file may have the descriptor by now
                try:
                    piece = piece[os.write(self._descriptor, piece) :]
                except BlockingIOError:  # another process has made the shared terminal or pipe non-blocking
                    select.select([], [self._descriptor], [])

    def _rendered(self, line: Line) -> bytes:
        rendered: Any = line
        if not isinstance(line, str):
            for processor in self._rendering:
                rendered = processor(None, "", rendered)
        return f"{rendered}\n".encode(errors="backslashreplace")


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
