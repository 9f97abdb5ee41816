"""Answers of commands: text for people, and the data that ``--json`` prints."""

import os
import sys
from typing import Any, Self

import msgspec
import rich_click as click

from entrypoints.terminal.errors import CommandError

STDOUT = 1  # its descriptor
ASKED = "tenantry.json"
"""Key of the click context's ``meta`` that is true where --json was given."""


class Answer(str):
    """Text of an answer, with the data behind it: ``Answer("3 deleted.", {"deleted": 3})``."""

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


# The commands do not see the option: whoever runs them prints what they return.
JSON = click.option("--json", is_flag=True, expose_value=False, callback=_remember, help="As JSON, with all fields.")


def is_json_asked() -> bool:
    """Whether the command that runs now was given --json."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(ASKED))


def show(answer: str) -> None:
    """Prints an answer on standard output; a text without data is ``{"message": text}`` as JSON.

    Raises CommandError with the answer where standard output cannot be written: what it tells may be said once, as the
    password of a new account is.
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
    """Prints a text on standard output; answers why that could not be, and None where all is printed."""
    try:
        click.echo(text)
    except BrokenPipeError:  # whoever reads has seen enough
        raise
    except OSError as error:
        _discard_output()
        return error.strerror or str(error)
    except UnicodeEncodeError as error:
        return f"{error.encoding} has no {error.object[error.start]!a}"
    return None


def _discard_output() -> None:
    """Discards what is buffered for standard output: written once more at the end, it would be an error again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)


def show_data(data: object) -> None:
    """Prints the data of a command that failed; its message is printed on standard error. Nothing without --json."""
    if data is not None and is_json_asked():
        click.echo(as_json(data))


def as_json(data: object) -> str:
    return msgspec.json.format(msgspec.json.encode(data, enc_hook=_plain), indent=2).decode()


def _plain(value: Any) -> str:
    """Paths and the like, which JSON has no type for."""
    return str(value)


def is_watched() -> bool:
    """Whether a person sees standard error: whoever pipes it somewhere wants no progress there."""
    return sys.stderr.isatty()
