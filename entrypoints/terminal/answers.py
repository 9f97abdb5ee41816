"""Command answers: text for people, and data for ``--json``."""

import os
import sys
from typing import Any, Self

import msgspec
import rich_click as click

from entrypoints.terminal.errors import CommandError

STDOUT = 1  # file descriptor of standard output
ASKED = "tenantry.json"
"""Key in the click context's ``meta`` that is true with --json."""


class Answer(str):
    """Answer of a command, as text and as data: ``Answer("3 deleted.", {"deleted": 3})``."""

    __slots__ = ("data",)

    data: object

    def __new__(cls, text: str, data: object) -> Self:
        made = super().__new__(cls, text)
        made.data = data
        return made

    @property
    def json(self) -> str:
        return as_json(self.data)


def _remember(context: click.Context, _option: click.Parameter, value: bool) -> None:
    context.meta[ASKED] = value


# The commands do not receive the option, because the caller of each command prints its answer.
JSON = click.option("--json", is_flag=True, expose_value=False, callback=_remember, help="As JSON, with all fields.")


def is_json_asked() -> bool:
    """Return whether the current command was given --json."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(ASKED))


def show(answer: str) -> None:
    """Print an answer on standard output; a text without data is ``{"message": text}`` as JSON.

    Raises CommandError with the answer if standard output is not writable: it may be shown only once, such as a new
    password.
    """
    if not is_json_asked():
        text = answer
    else:
        text = answer.json if isinstance(answer, Answer) else as_json({"message": answer})
    if (reason := not_printed(text)) is not None:
        raise CommandError(
            f"Standard output cannot be written ({reason}). The command ended well, and answers:\n{text}"
        )


def not_printed(text: str) -> str | None:
    """Print a text on standard output. Return the reason if this fails, else None."""
    try:
        click.echo(text)
    except BrokenPipeError:  # the reader has closed the pipe
        raise
    except OSError as error:
        _discard_output()
        return error.strerror or str(error)
    except UnicodeEncodeError as error:
        return f"{error.encoding} has no {error.object[error.start]!a}"
    return None


def _discard_output() -> None:
    """Discard standard output, because Python would fail again when it flushes the output at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)


def show_data(data: object) -> None:
    """With --json, print a failed command's data on standard output; its message goes to standard error."""
    if data is not None and is_json_asked():
        click.echo(as_json(data))


def as_json(data: object) -> str:
    return msgspec.json.format(msgspec.json.encode(data, enc_hook=_plain), indent=2).decode()


def _plain(value: Any) -> str:
    """Converts paths and similar values without a JSON type."""
    return str(value)


def is_watched() -> bool:
    """Return whether a person sees standard error: piped output needs no progress."""
    return sys.stderr.isatty()
