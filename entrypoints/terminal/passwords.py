"""Passwords for commands: hidden on a terminal, else a line of standard input."""

import os
import sys

import rich_click as click

from entrypoints.terminal.errors import SETTINGS, CommandError

MISSING = (
    "There is no terminal to ask for the password, and standard input has no line with one: write it there, or let one"
    " be made with --generate."
)


def ask_password() -> str:
    """Read a password, typed twice on a terminal, or from standard input. Raises CommandError if that is empty."""
    # Security: accept no password as an argument, because other users can see arguments and the shell stores them.
    if _has_terminal():
        # Prompt on standard error: standard output contains only the answer, and may be redirected to a file.
        typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
        return typed
    click.echo("Password, as a line of standard input: ", nl=False, err=True)
    # sys.stdin is None if standard input was closed before the start
    line = sys.stdin.buffer.readline().rstrip(b"\r\n") if sys.stdin else b""
    click.echo(err=True)
    if not line:
        raise CommandError(MISSING, SETTINGS)
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise CommandError("The password on standard input is not UTF-8.", SETTINGS) from None


def _has_terminal() -> bool:
    """Return whether the process has a terminal, even if standard input and output are files."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True
