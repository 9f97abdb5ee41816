"""Work done in a process of its own, whose memory ends with it."""

import multiprocessing
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

from entrypoints.terminal.errors import CommandError

T = TypeVar("T")

_Said = tuple[T | None, tuple[str, int] | None]


def run_in_child(work: Callable[[], T], beside: Callable[[], None] = lambda: None) -> T:
    """Answers what ``work`` answers in a child process, or in this one where processes are not forked.

    ``beside`` runs here meanwhile. Raises the CommandError that ``work`` raises.
    """
    if sys.platform != "linux":
        beside()
        return work()
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    process = fork.Process(target=_say, args=(work, there))
    process.start()
    there.close()  # or recv() would wait for ever for a child that died
    try:
        beside()
        answer, refusal = here.recv()
    except EOFError:
        raise CommandError("The start was broken off: the lines above say why.") from None
    except BaseException:  # told to stop while it works
        process.kill()
        raise
    finally:
        process.join()
    if refusal is not None:
        raise CommandError(*refusal)
    done: T = answer
    return done


def _say(work: Callable[[], T], there: Connection) -> None:
    """Ctrl-C reaches both processes: the parent ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    said: _Said[T]
    try:
        said = (work(), None)
    except CommandError as refusal:
        said = (None, (str(refusal), refusal.exit_code))
    there.send(said)
