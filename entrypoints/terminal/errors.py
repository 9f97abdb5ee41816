"""Error of a command, with its exit code."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

# Exit codes for scripts; every other failure exits with 1.
SETTINGS = 2
IN_USE = 3
UNAVAILABLE = 4
MIGRATIONS = 5


class CommandError(Exception):
    """Failure of a command. The message names the error and the remedy for the operator.

    With ``--json``, the command prints ``data`` on standard output despite the failure: for example, the rows with
    errors.
    """

    def __init__(self, message: str, exit_code: int = 1, *, data: object = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.data = data


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def writing(what: object, remedy: str) -> Iterator[None]:
    """Convert file system errors inside the block to CommandError.

    Do not use a server in the block, because Python raises connection errors as OSError too.
    """
    try:
        yield
    except OSError as error:
        # A full disk is not a wrong argument.
        code = 1 if error.errno in _FULL else SETTINGS
        raise CommandError(f"{what} cannot be written ({error.strerror or error}): {remedy}.", code) from None
