"""Why the command line went no further, with the exit code that says so to whoever started it."""

SETTINGS = 2
IN_USE = 3
UNAVAILABLE = 4
MIGRATIONS = 5


class CommandError(Exception):
    """The message is for people: what is wrong, and what to do about it."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
