"""Runs work in a separate process. The memory of the process is free after its end."""

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
    """Return the result of ``work`` in a child process, or in this process on systems without fork.

    This process runs ``beside`` concurrently. Raises the CommandError of ``work``.
    """
    if sys.platform != "linux":
        beside()
        return work()
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    process = fork.Process(target=_say, args=(work, there))
    process.start()
    there.close()  # otherwise recv() would wait forever for a dead child
    try:
        beside()
        answer, refusal = here.recv()
    except EOFError:
        raise CommandError("The start was broken off: the lines above say why.") from None
    except BaseException:  # stopped during the work
        process.kill()
        raise
    finally:
        process.join()
    if refusal is not None:
        raise CommandError(*refusal)
    done: T = answer
    return done


def _say(work: Callable[[], T], there: Connection) -> None:
    """Run ``work`` and send its result. Ctrl-C reaches both processes: the parent ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    said: _Said[T]
    try:
        said = (work(), None)
    except CommandError as refusal:
        said = (None, (str(refusal), refusal.exit_code))
    there.send(said)
