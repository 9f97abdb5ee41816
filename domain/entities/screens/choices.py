"""Labels and colours of the values of a choice on screens: declared or derived."""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

ColorName = Literal["grey", "blue", "green", "yellow", "red", "purple", "teal", "pink"]

_MEANINGS: dict[ColorName, str] = {
    "grey": "draft new none unknown inactive archived retired closed hidden disabled low",
    "green": "live active open published done paid approved accepted confirmed complete completed success enabled ok",
    "yellow": "pending waiting review paused processing warning medium hold trial",
    "red": "failed error rejected cancelled canceled blocked overdue expired urgent high critical lost refused",
}
_MEANT: dict[str, ColorName] = {word: color for color, words in _MEANINGS.items() for word in words.split()}
_OTHERS: tuple[ColorName, ...] = ("blue", "purple", "teal", "pink")


class Choice(Struct, frozen=True):
    """A value of a choice on screens; None derives the label or the colour from the value."""

    label: str | None = None
    color: ColorName | None = None


class Choices(Struct, frozen=True):
    by_value: Mapping[str, Choice]


def choice(label: str | None = None, color: ColorName | None = None) -> Choice:
    """Declare the label and the colour of a value, for ``choices``: ``choice("For sale", "green")``."""
    return Choice(label, color)


def choices(by_value: Mapping[str, Choice]) -> Choices:
    """Declare how screens show the values of a choice.

    Example: ``status: Annotated[Literal["draft", "live"], choices({"live": choice("For sale", "green")})]``. A value
    without an entry gets a label from its words, and a colour.
    """
    return Choices(by_value)


def shown_choices(values: tuple[str, ...], declared: Mapping[str, Choice]) -> list[tuple[str, str, ColorName]]:
    """Return each value with its label and colour, in the order of the declaration.

    The default label is the value's words: ``in_progress`` is "In progress". Common words such as ``live``, ``pending``
    and ``failed`` have a default colour; other values get one by their position.
    """
    shown = []
    for place, value in enumerate(values):
        given = declared.get(value, Choice())
        shown.append((value, given.label or _words(value), given.color or _color(value, place)))
    return shown


def _words(value: str) -> str:
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+", " ", value).strip() or value
    text = text if text.isupper() else text.lower() if " " in text else text
    return text[:1].upper() + text[1:]


def _color(value: str, place: int) -> ColorName:
    return _MEANT.get(value.lower(), _OTHERS[place % len(_OTHERS)])
