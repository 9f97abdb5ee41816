"""Numbers and dates as programs in other languages write them: ``1.250,50`` and ``22.11.2026``."""

import re
from collections.abc import Callable

from domain.entities.files.cells import READERS, WrongCell
from domain.entities.files.options import ImportOptions, date_parts
from domain.entities.kinds import BITS, NUMBERS, Kind

Respell = Callable[[str], str]

_COMMA = re.compile(r"[+-]?([0-9]{1,400}|[0-9]{1,3}(\.[0-9]{3})+)?(,[0-9]{0,400})?([eE][+-]?[0-9]{1,4})?")
_GROUPS = re.compile(r"[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+")
_DIGITS = {"DD": "(?P<day>[0-9]{1,2})", "MM": "(?P<month>[0-9]{1,2})", "YYYY": "(?P<year>[0-9]{4})"}
_USUAL_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def cell_reader(kind: Kind, options: ImportOptions) -> Callable[[str], object] | None:
    """Reads a text of the file as ``READERS`` do; None where it is the value itself. The reader raises WrongCell."""
    respell, read = respelling(kind, options), READERS[kind]
    if respell is None or read is None:
        return respell or read
    return lambda text: read(respell(text))


def respelling(kind: Kind, options: ImportOptions) -> Respell | None:
    """Writes a text of the file as JSON has its value; None where all are written so. It raises WrongCell.

    Dates as JSON has them are accepted beside those of ``dateFormat``: ``2026-11-22`` is one day in every country.
    """
    if kind in NUMBERS and options.decimal == ",":
        return _with_point
    if kind in BITS and options.decimal is None:
        return _ungrouped
    if options.date_format is None:
        return None
    if kind is Kind.DATE:
        return _day_of(options.date_format, "")
    return _day_of(options.date_format, "(?P<time>[Tt ].*)") if kind is Kind.TIMESTAMP else None


def has_comma(text: str) -> bool:
    """Whether the text is a number whose decimal sign is a comma, or one without a fraction."""
    return _COMMA.fullmatch(text) is not None


def _with_point(text: str) -> str:
    text = text.strip()
    if not has_comma(text) and ("." in text or "," in text):
        raise WrongCell(f"is no number with a decimal comma: {text[:40]}")
    return text.replace(".", "").replace(",", ".")


def _ungrouped(text: str) -> str:
    # 1.000 is 1 with a decimal point, and 1,000 in German.
    if "." in text and _GROUPS.fullmatch(plain := text.strip()):
        raise WrongCell(f"may have a point between thousands: {plain[:40]}; set the option decimal to '.' or ','")
    return text


def _day_of(date_format: str, rest: str) -> Respell:
    pattern = day_pattern(date_format, rest)

    def respell(text: str) -> str:
        text = text.strip()
        if found := pattern.fullmatch(text):
            parts = found.groupdict(default="")
            return f"{parts['year']}-{parts['month']:0>2}-{parts['day']:0>2}{parts.get('time', '')}"
        if _USUAL_DAY.match(text) is None:
            raise WrongCell(f"is no date of the format {date_format}: {text[:40]}")
        return text

    return respell


def day_pattern(date_format: str, rest: str = "") -> re.Pattern[str]:
    separator, parts = date_parts(date_format)
    return re.compile(re.escape(separator).join(_DIGITS[part] for part in parts) + rest)
