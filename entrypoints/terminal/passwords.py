"""Passwords that commands ask for: hidden on a terminal, else a line of standard input."""

import os
import sys

import rich_click as click

from entrypoints.terminal.errors import SETTINGS, CommandError

MISSING = (
    "There is no terminal to ask for the password, and standard input has no line with one: write it there, or let one"
    " be made with --generate."
)


def ask_password() -> str:
    """The password, typed twice on a terminal. Raises CommandError where there is none and standard input is empty."""
    # Never an argument: other users of the machine see those, and the shell keeps them.
    if _has_terminal():
        # Standard output has the answer alone, which may be JSON or go into a file.
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    click.echo("Password, as a line of standard input: ", nl=False, err=True)
    # None where standard input was closed before the command began
    line = sys.stdin.buffer.readline().rstrip(b"\r\n") if sys.stdin else b""
    click.echo(err=True)
    if not line:
        raise CommandError(MISSING, SETTINGS)
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise CommandError("The password on standard input is not UTF-8.", SETTINGS) from None


def _has_terminal() -> bool:
    """Whether a person can be asked, also where standard input and output are files."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
