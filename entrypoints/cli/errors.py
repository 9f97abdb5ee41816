"""Error of a command, with its exit code."""

# Codes that scripts can tell apart; every other failure is 1.
SETTINGS = 2
IN_USE = 3
UNAVAILABLE = 4
MIGRATIONS = 5


class CommandError(Exception):
    """Failure with a message for the operator: what is wrong, and what to do about it."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
