"""Findings of ``tenantry check`` and ``tenantry doctor``: lines as they come, or all of them as JSON at the end."""

import rich_click as click
from msgspec import Struct

from entrypoints.terminal.answers import is_json_asked, show_data


class Finding(Struct, frozen=True):
    """A line of the report of ``tenantry check`` or ``tenantry doctor``.

    ``subject`` is ``wrong`` for what has to be mended, ``note`` for a warning, else what was looked at.
    """

    subject: str
    message: str


class Findings:
    """Findings of one command, in their order."""

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def say(self, subject: str, message: str) -> None:
        self.found.append(Finding(subject, message))
        # a person sees each line as it is found: servers that are away take seconds
        if not is_json_asked():
            click.echo(f"{subject + ':':<10} {message}")

    def end(self, *, is_right: bool) -> None:
        """Prints the findings where --json asks for them."""
        show_data({"isRight": is_right, "findings": self.found})
