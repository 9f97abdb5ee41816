"""Restart of the server after workers that end again and again."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:  # imported by the start itself
    from granian.server.common import AbstractServer
    from litestar import Litestar

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds before a restart; each one doubles the pause."""
IS_STEADY = 60.0
"""Seconds of service after which the next pause is short again."""
SAID = "Workers ended again and again. The service starts new ones in {:g} seconds; the log has their errors."


def serve_until_stopped(
    made: "Callable[[], AbstractServer[Any]]", load: "Callable[[], Litestar]", is_ready: Callable[[], bool]
) -> None:
    """Serve until a signal. Granian exits if a new worker ends within seconds, so start another server after a pause.

    Raises SystemExit if the service was never ready, because then its workers cannot start.
    """
    growing, server = pauses(), made()
    while True:
        began = time.monotonic()
        try:
            server.serve(target_loader=load, wrap_loader=False)
        except SystemExit:
            if server.interrupt_signal or not is_ready():
                raise
        else:
            return
        if time.monotonic() - began > IS_STEADY:
            growing = pauses()
        pause = next(growing)
        click.echo(SAID.format(pause), err=True)
        if _is_stopped(server, pause):
            return
        server = _after(server, made())


def pauses() -> Iterator[float]:
    pause = FIRST_PAUSE
    while True:
        yield pause
        pause = min(2 * pause, LONGEST_PAUSE)


def _is_stopped(server: "AbstractServer[Any]", pause: float) -> bool:
    """Wait; return whether a signal arrived, because the handlers of the ended server are still installed."""
    until = time.monotonic() + pause
    while time.monotonic() < until and not server.interrupt_signal:
        time.sleep(0.05)
    return server.interrupt_signal


def _after(ended: "AbstractServer[Any]", server: "AbstractServer[Any]") -> "AbstractServer[Any]":
    """Return the new server, which also stops for a signal that arrived before its handlers were installed."""

    def stop() -> None:
        if ended.interrupt_signal:
            server.signal_handler_interrupt()  # type: ignore[no-untyped-call]  # Granian gives it no types

    server.on_startup(stop)
    return server
