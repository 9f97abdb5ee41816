"""Signals that end a command: SIGTERM, and SIGHUP, which the system sends when a terminal is closed."""

import signal
import sys
from typing import NoReturn


def exit_on_signals() -> None:
    """Leaves by the way of exceptions: servers that were started stop, and nothing half done is left."""
    signal.signal(signal.SIGTERM, _end)
    if not is_kept_running():
        signal.signal(signal.SIGHUP, _end)


def forget_signals() -> None:
    """For a child that is forked, which has nothing to clean up: what it inherits is its parent's."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not is_kept_running():
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def is_kept_running() -> bool:
    """Whether a closed terminal ends nothing, as `nohup` asks for."""
    return signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def _end(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)
