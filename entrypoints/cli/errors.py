"""Error of a command, with its exit code."""

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
