"""Answers of commands: text for people, and the data that ``--json`` prints."""

import sys
from typing import Any, Self

import msgspec
import rich_click as click

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
    """Prints an answer on standard output; a text without data is ``{"message": text}`` as JSON."""
    if not is_json_asked():
        click.echo(answer)
        return
    click.echo(answer.json if isinstance(answer, Answer) else as_json({"message": answer}))


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
