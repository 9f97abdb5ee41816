"""Error of a command, with its exit code."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

# Codes that scripts can tell apart; every other failure is 1.
SETTINGS = 2
IN_USE = 3
UNAVAILABLE = 4
MIGRATIONS = 5


class CommandError(Exception):
    """Failure with a message for the operator: what is wrong, and what to do about it.

    ``data`` is what ``--json`` prints on standard output although the command failed, such as the rows with errors.
    """

    def __init__(self, message: str, exit_code: int = 1, *, data: object = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.data = data


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def writing(what: object, remedy: str) -> Iterator[None]:
    """Turns what the file system refuses inside the block into CommandError.

    No server may be asked in the block: a connection that breaks is an error of the operating system too.
    """
    try:
        yield
    except OSError as error:
        # A disk that is full makes no argument wrong.
        code = 1 if error.errno in _FULL else SETTINGS
        raise CommandError(f"{what} cannot be written ({error.strerror or error}): {remedy}.", code) from None
