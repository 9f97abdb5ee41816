"""Main loop of the child processes that write a file: it reads the job and the rows from standard input, and writes the
file to an open descriptor.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from adapters.sheets.frames import DONE, REFUSED, WriteJob, receive, refusal_of, send
from domain.errors import Error

NICENESS = 5  # requests have priority

Write = Callable[[WriteJob, Iterator[bytes], BinaryIO, Path], None]
"""Writer of a format: the pieces may end within a row; the folder is for temporary files."""


def run(write: Write) -> None:
    """Run ``python -m MODULE DESCRIPTOR FOLDER``; the first line of standard input is the job, before the rows."""
    os.nice(NICENESS)
    out, folder = sys.stdout.buffer, Path(sys.argv[2])
    with (
        suppress(BrokenPipeError, EOFError, msgspec.DecodeError),
        open(int(sys.argv[1]), "wb") as made,  # noqa: PTH123  # a descriptor has no path
    ):
        job = msgspec.json.decode(sys.stdin.buffer.readline(), type=WriteJob)
        try:
            write(job, _pieces(sys.stdin.buffer), made, folder)
        except Error as error:
            send(out, REFUSED, refusal_of(error))
        else:
            made.flush()
            send(out, DONE)
    shutil.rmtree(folder, ignore_errors=True)  # the service does this too, if still running


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """Pieces of the rows. Raises EOFError if the service ended early."""
    while True:
        letter, body = receive(stream)
        if letter == DONE:
            return
        yield body
