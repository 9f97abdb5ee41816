"""Findings of ``tenantry check`` and ``tenantry doctor``: lines printed at once, or JSON at the end."""

import rich_click as click
from msgspec import Struct

from entrypoints.terminal.answers import is_json_asked, show_data


class Finding(Struct, frozen=True):
    """Line in the report of ``tenantry check`` or ``tenantry doctor``.

    ``subject`` is ``wrong`` for an error, ``note`` for a warning, else the checked object.
    """

    subject: str
    message: str


class Findings:
    """Findings of one command, in order."""

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def say(self, subject: str, message: str) -> None:
        self.found.append(Finding(subject, message))
        # Print each line at once: unavailable servers need seconds.
        if not is_json_asked():
            click.echo(f"{subject + ':':<10} {message}")

    def end(self, *, is_right: bool) -> None:
        """Print the findings if --json is set."""
        show_data({"isRight": is_right, "findings": self.found})
