"""Cell values by field kind, as in the table of docs/files.md.

Numbers have the fifteen digits that a spreadsheet shows; dates are numbers with a date style.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from msgspec import Struct

from adapters.sheets.xlsx.sheet import Cell
from adapters.sheets.xlsx.workbook import SharedTexts
from domain.entities.files.cells import WrongCell
from domain.entities.files.spelling import Respell
from domain.entities.kinds import NUMBERS, TIMES, Kind
from domain.moments import NotAMoment, exact_moment

DIGITS = 15  # a spreadsheet stores more digits of a computed number, but shows these
_EXPANDED = 40  # largest exponent of a number written out
_NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_PLAIN = re.compile(r"-?([0-9]{1,15}|[0-9]{1,9}\.[0-9]{1,6})")  # most numbers: they need no arithmetic
_BOOLEANS = {"1": "true", "0": "false", "true": "true", "false": "false"}
_DATE_LENGTH = len("2026-11-22")
_DAY = 86_400_000  # milliseconds, the finest time in a spreadsheet
_LAST_SERIAL = 2_958_466.0
_EPOCH_1900, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)  # noqa: DTZ001  # the cell has no time zone


class CellReader(Struct, frozen=True):
    """Reads cells of one sheet; ``zone`` is that of the times, ``respells`` read texts of other languages."""

    texts: SharedTexts
    date_styles: frozenset[int]
    is_1904: bool
    zone: ZoneInfo
    respells: Mapping[Kind, Respell]

    def text(self, cell: Cell, kind: Kind) -> str | None:
        """Return the cell as CSV text for this kind of field, None for empty text. Raises WrongCell."""
        kind_of_cell, style, content = cell
        if kind_of_cell == "n":
            return self._number(content, style, kind)
        read = _READERS.get(kind_of_cell)
        if read is None:
            raise WrongCell(f"is a cell of the unknown type {kind_of_cell[:20]!r}")
        text = read(self, content, kind)
        if text and kind_of_cell in _TEXTS and (respell := self.respells.get(kind)) is not None:
            return respell(text)
        return text or None

    def shared(self, content: str, _: Kind) -> str:
        """Return the text of a cell of the type ``s``, an index of a shared text."""
        text = self.texts.get(int(content)) if content.isdecimal() and len(content) < 10 else None
        if text is None:
            raise WrongCell("refers to a text that the file does not have")
        return text

    def _number(self, content: str, style: str, kind: Kind) -> str:
        if self.date_styles and style.isdecimal() and int(style[:9]) in self.date_styles:
            return self._moment_text(self._moment(content), kind)
        if kind in TIMES:
            raise WrongCell(f"is the number {content[:40]}: format the cell as a date")
        return number_text(content, kind)

    def iso(self, content: str, kind: Kind) -> str:
        """Return the date of a cell of the type ``d``, stored as text."""
        local = content.removesuffix("Z")
        local += "" if len(local) > _DATE_LENGTH else "T00:00"
        try:
            moment = exact_moment(f"{local}Z").replace(tzinfo=None)
        except NotAMoment:
            if _has_zone(local):
                return content
            raise WrongCell(f"is not a date: {content[:40]!r}") from None
        return self._moment_text(moment, kind)

    def _moment(self, content: str) -> datetime:
        """Return the date and time of a serial number, to the millisecond."""
        if _NUMBER.fullmatch(content) is None:
            raise WrongCell(f"is not a number: {content[:40]!r}")
        serial = float(content)
        epoch = _EPOCH_1904 if self.is_1904 else _EPOCH_1900
        if not self.is_1904:
            if 60 <= serial < 61:
                raise WrongCell("is 29 February 1900, a day that never was")
            # Spreadsheets count a day 60, 29 February 1900, that did not exist. So the numbers of all days before it
            # are one too low for this epoch.
            epoch += timedelta(days=1) if serial < 60 else timedelta()
        first = 0.0 if self.is_1904 else 1.0
        if serial < first:
            raise WrongCell("is a time without a date, or before the first day of a spreadsheet")
        if serial >= _LAST_SERIAL - (1462 if self.is_1904 else 0):
            raise WrongCell("is a date behind the year 9999")
        days = int(serial)
        return epoch + timedelta(days=days, milliseconds=round((serial - days) * _DAY))

    def _moment_text(self, moment: datetime, kind: Kind) -> str:
        if kind in NUMBERS or kind is Kind.BOOLEAN:
            raise WrongCell(f"is the date {_shown(moment)}, but the field does not accept a date")
        return self._utc(moment) if kind is Kind.TIMESTAMP else _shown(moment)

    def _utc(self, moment: datetime) -> str:
        """Return the moment in UTC; for an ambiguous local time, the first one."""
        try:
            utc = moment.replace(tzinfo=self.zone).astimezone(UTC)
            if utc.astimezone(self.zone).replace(tzinfo=None) != moment:
                raise WrongCell(f"is {_shown(moment)}, which the clocks of {self.zone.key} left out")
        except OverflowError:
            raise WrongCell("is a date behind the year 9999") from None
        return utc.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _has_zone(text: str) -> bool:
    try:
        exact_moment(text)
    except NotAMoment:
        return False
    return True


def _plain_text(_: CellReader, content: str, __: Kind) -> str:
    return content


def _boolean(_: CellReader, content: str, __: Kind) -> str:
    if content not in _BOOLEANS:
        raise WrongCell(f"is neither true nor false: {content[:40]!r}")
    return _BOOLEANS[content]


def _error(_: CellReader, content: str, __: Kind) -> str:
    raise WrongCell(f"holds the error {content[:20]}")


def _formula(*_: object) -> str:
    raise WrongCell("holds a formula without a result: open the file in a spreadsheet program and save it")


# Methods and functions have one signature: reader, content, kind.
_TEXTS = frozenset(("s", "text"))
_READERS: dict[str, Callable[[CellReader, str, Kind], str]] = {
    "s": CellReader.shared,
    "text": _plain_text,
    "b": _boolean,
    "e": _error,
    "d": CellReader.iso,
    "formula": _formula,
}


def _shown(moment: datetime) -> str:
    """Return ``2026-11-22`` for a midnight, else the date with its time."""
    if moment.time() == datetime.min.time():
        return date.isoformat(moment.date())
    return moment.isoformat(timespec="seconds" if not moment.microsecond else "milliseconds")


def number_text(content: str, kind: Kind) -> str:
    """Return a number in plain digits: ``1E+05`` is 100000, a computed ``0.30000000000000004`` is 0.3.

    A float field or a whole number retains every digit.
    """
    if _PLAIN.fullmatch(content):
        return content
    if _NUMBER.fullmatch(content) is None:
        raise WrongCell(f"is not a number: {content[:40]!r}")
    if kind is Kind.FLOAT or _WHOLE.fullmatch(content):
        return content
    number = float(content)
    rounded = Decimal(f"{number:.{DIGITS}g}")
    if not rounded.is_finite() or (not rounded and Decimal(content)):
        raise WrongCell(f"is not a number that can be stored: {content[:40]}")
    plain = rounded.normalize() if rounded else Decimal(0)
    return f"{plain:f}" if abs(plain.adjusted()) <= _EXPANDED else str(plain)
