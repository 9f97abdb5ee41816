"""Signals that end a command: SIGTERM, and SIGHUP for a closed terminal."""

import signal
import sys
from typing import NoReturn


def exit_on_signals() -> None:
    """Exit by an exception on a signal, so that started servers stop and cleanup runs."""
    signal.signal(signal.SIGTERM, _end)
    if not is_kept_running():
        signal.signal(signal.SIGHUP, _end)


def forget_signals() -> None:
    """Reset the signal handlers of a forked child, without cleanup: inherited resources belong to the parent."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not is_kept_running():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def is_kept_running() -> bool:
    """Return whether the service survives a closed terminal, as with `nohup`."""
    return signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)
