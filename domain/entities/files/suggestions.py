"""Options that a file seems to need, found in its first rows: a dry run suggests them."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date

from msgspec import Struct

from domain.entities.bodies import FieldAccess
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.files.csv_rows import Cells
from domain.entities.files.options import ImportOptions
from domain.entities.files.spelling import day_pattern, has_comma
from domain.entities.kinds import NUMBERS, TIMES

FIRST_ROWS = 100
"""Rows that are looked at for suggestions."""
HEADER_ROWS = 20
"""Rows among which the header is looked for."""
DATE_FORMATS = ("DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "DD-MM-YYYY", "MM-DD-YYYY", "YYYY/MM/DD", "YYYY.MM.DD")


class Suggested(Struct, frozen=True, kw_only=True, rename="camel"):
    """Options of an import that fit the file; null and empty where the given ones do.

    ``date_formats`` are all in which the dates of the file can be read: with several of them a person has to choose.
    """

    encoding: str | None = None
    decimal: str | None = None
    date_formats: tuple[str, ...] = ()
    header_row: int | None = None


def spelling_of(
    fields: Sequence[FieldModel | None], rows: Sequence[Cells], options: ImportOptions, *, is_text: bool
) -> tuple[str | None, tuple[str, ...]]:
    """The decimal sign and the formats of dates to suggest, by the first rows behind the header."""
    numbers, times = list[str](), list[str]()
    for cells in rows:
        for field, cell in zip(fields, cells, strict=False):
            if field is not None and cell:
                numbers += [cell.strip()] if field.kind in NUMBERS else []
                times += [cell.strip()] if field.kind in TIMES else []
    decimal = "," if options.decimal != "," and _has_comma(numbers, is_text=is_text) else None
    return decimal, () if options.date_format is not None else tuple(_formats(times))


def _has_comma(numbers: Sequence[str], *, is_text: bool) -> bool:
    # The numbers of a workbook always have a point: only its texts have a comma.
    signed = [number for number in numbers if "," in number or (is_text and "." in number)]
    return any("," in number for number in signed) and all(map(has_comma, signed))


def _formats(times: Sequence[str]) -> Iterator[str]:
    days = [day for text in times if (day := re.split("[ Tt]", text, maxsplit=1)[0]) and not _is_usual(day)]
    for date_format in DATE_FORMATS:
        pattern = day_pattern(date_format)
        if days and all((found := pattern.fullmatch(day)) and _is_day(found.groupdict()) for day in days):
            yield date_format


def _is_usual(day: str) -> bool:
    return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", day) is not None


def _is_day(parts: Mapping[str, str]) -> bool:
    try:
        date(int(parts["year"]), int(parts["month"]), int(parts["day"]))
    except ValueError:
        return False
    return True


def header_row_of(known: Collection[str], first: Sequence[tuple[int, Cells]]) -> int | None:
    """Number of the row with the most of the ``known`` names, in lower case; None where the first one has them."""
    named = [sum((cell or "").strip().lower() in known for cell in cells) for _, cells in first[:HEADER_ROWS]]
    most = max(named, default=0)
    # a single name may be a word of any row
    return first[named.index(most)][0] if named and most > max(named[0], 1) else None


def known_names(model: EntityModel, options: ImportOptions, may: FieldAccess) -> frozenset[str]:
    """What a header may call the fields: their names, their labels, and the columns of the options, in lower case."""
    fields = [field for field in model.fields if field.wire not in may.unknown]
    named = (*options.columns, *(field.wire for field in fields), *(field.label or "" for field in fields))
    return frozenset(name.strip().lower() for name in named) - {""}
