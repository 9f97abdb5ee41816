"""LogWriter: a thread that renders log lines and writes them to standard error."""

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
"""Seconds until waiting entries are written together: waking the thread for each would slow the event loop."""
PIECE = 4096
"""Bytes that a pipe accepts atomically, so that lines of several processes do not mix."""
BEHIND = 10_000
"""Maximum lines waiting for a slow reader. Further lines are dropped and counted."""
STANDARD_ERROR = 2
PATIENCE = 5.0
"""Seconds to wait for a stalled reader at shutdown."""
LOST = "log lines were lost, because nobody took them"

Line = EventDict | str
"""An event for the thread to render, or a line rendered by its logger."""


class LogWriter(QueueListener):
    """Renders and writes log entries in a thread, so that the event loop never waits for the reader of the log.

    Entries before ``start`` wait until then. An entry after ``close`` is written at once.
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
        """Queue an entry without waiting. It is lost if the queue is full or has no reader."""
        if self.is_stuck or self.queue.qsize() >= BEHIND:
            self._lost += 1
        elif self._is_closed:
            self.handle(line)
            self._flush()
        else:
            self.queue.put(line)

    def close(self) -> None:
        """Wait at most ``patience`` until all entries are written. After that, the remaining entries are lost."""
        # stop() waits for its thread without a limit, and a full pipe may block that thread.
        stopping = threading.Thread(target=self.stop, name="end of the log", daemon=True)
        stopping.start()
        stopping.join(self._patience)
        self.is_stuck = stopping.is_alive()
        self._is_closed = True

    def stop(self) -> None:
        super().stop()
        self._flush()

    def dequeue(self, block: bool) -> Any:  # QueueListener calls it with this argument
        """Return the next entry; before it waits, the thread writes its entries, then lets others gather."""
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
        # The log has no reader: drop the lines and continue the service.
        with suppress(OSError):
            while piece and not self.is_stuck:  # a stuck descriptor may belong to another file by now
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
    """Handler for the standard library's logging. The caller renders a record; a LogWriter writes it."""

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
    """Write the log in a thread during the block, so that no entry waits for the log's reader; then write the rest."""
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
        if not writer.is_stuck:  # otherwise later entries and the shutdown would wait for the reader
            root.handlers[:] = before
