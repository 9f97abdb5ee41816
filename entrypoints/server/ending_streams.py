"""End of open streams at a stop signal: a server waits for open requests before it ends the application."""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)

Handler = Callable[[int, FrameType | None], object]


@contextmanager
def ended_by_signals(end: Callable[[], None]) -> Iterator[None]:
    """Call ``end`` in the event loop at the first stop signal, before the server's own handler, and at the exit."""
    loop = asyncio.get_running_loop()
    replaced: dict[signal.Signals, Handler] = {}

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(end)
        replaced[signal.Signals(number)](number, frame)

    # Only the main thread may set handlers, and only for signals that the server handles.
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            given = signal.getsignal(number)
            if callable(given):
                replaced[number] = given
                signal.signal(number, handle)
                signal.siginterrupt(number, False)  # as event loops set it
    try:
        yield
    finally:
        for number, former in replaced.items():
            if signal.getsignal(number) is handle:
                signal.signal(number, former)
        end()
