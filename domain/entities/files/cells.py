"""Cells of a file: their texts become the values of a JSON body."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

import msgspec

from domain.entities.declaration import FieldModel
from domain.entities.exact_values import whole_number
from domain.entities.kinds import Kind

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?")
_SCIENTIFIC = re.compile(r"[+-]?[0-9]{1,400}\.([0-9]{0,400})[eE]\+?([0-9]{1,4})")
_SHOWN_WHOLE = 11
"""Exponent from which a spreadsheet shows numbers with six of their digits, as 1.23457E+11."""
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "wahr", "ja"), True),
    **dict.fromkeys(("false", "no", "falsch", "nein"), False),
}
"""Words of spreadsheets and of people, in English and German, in any case."""


class WrongCell(Exception):
    """The cell is an error of its row; the message says what the cell is and what to do."""


def cell_value(field: FieldModel, text: str) -> object:
    """The cell as it would be in a JSON body: ``"12"`` is 12 for an integer.

    Text that is no such value stays text, and is refused by the check of the body with its usual message. Raises
    WrongCell.
    """
    return text if (read := READERS[field.kind]) is None else read(text)


def read_integer(text: str) -> object:
    """The number, or the text where it is none."""
    if _INTEGER.fullmatch(text):
        return int(text)
    number = whole_number(Decimal(text)) if _NUMBER.fullmatch(text) else text
    return number if isinstance(number, int) else text


def _whole(text: str) -> object:
    _ensure_exact(text)
    return read_integer(text)


def _decimal(text: str) -> object:
    _ensure_exact(text)
    return text


def _ensure_exact(text: str) -> None:
    """Raises WrongCell for a number as a spreadsheet shows it in scientific notation, with a part of its digits."""
    if "E" not in text and "e" not in text:
        return
    found = _SCIENTIFIC.fullmatch(text)
    if found and int(found[2]) > len(found[1]) and Decimal(text).adjusted() >= _SHOWN_WHOLE:
        raise WrongCell(f"is the rounded number {text[:40]}: show the column as a number with all of its digits")


def _float(text: str) -> object:
    if not _NUMBER.fullmatch(text):
        return text
    # Return a Decimal if float() rounds the number to 0, so that validation of the body rejects it.
    return float(text) or Decimal(text)


def _list(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


READERS: Mapping[Kind, Callable[[str], object] | None] = {
    Kind.TEXT: None,
    Kind.INTEGER: _whole,
    Kind.BIG_INTEGER: _whole,
    Kind.DECIMAL: _decimal,
    Kind.FLOAT: _float,
    Kind.BOOLEAN: lambda text: _BOOLEANS.get(text.lower(), text),
    Kind.TIMESTAMP: None,
    Kind.DATE: None,
    Kind.UUID: None,
    Kind.CHOICE: None,
    Kind.UUIDS: _list,
    Kind.TEXTS: _list,
    Kind.LINKS: _list,
}
"""Readers of cells by kind; None where a cell stays text, as in a body."""
