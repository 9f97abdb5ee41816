"""Rows as files: exported columns, the escape of formulas, and errors of rows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal, Self

from msgspec import Struct

from domain.entities.bodies import NOT_WRITABLE
from domain.entities.declaration import TENANT, EntityModel, FieldModel, Hidden, Registry
from domain.entities.files.suggestions import Suggested
from domain.entities.query.query import MAX_STEPS, View, at_end, response_fields
from domain.errors import FieldError, PayloadTooLarge, UnprocessableEntity, ValidationError

LARGEST_FILE = 50 * 1024 * 1024
LARGEST_INFLATED = 200 * 1024 * 1024
MOST_ROWS = 200_000
MOST_ASKED_ROWS = 10_000
"""Most rows of an imported file whose rule reads other rows: each is written, and its rule evaluated, by itself."""
MOST_ERRORS = 1_000
MOST_XLSX_ROWS = 1_048_575
"""Most rows of an xlsx sheet below its header."""
LONGEST_XLSX_TEXT = 32_767

FORMULA = r"^'*[-=+@\t\r\n\uFF0B\uFF0D\uFF1D\uFF20]"
"""Texts that a spreadsheet would run as a formula, behind any number of apostrophes; full-width signs count too."""
# Every such text sorts before BELOW or from ABOVE on: comparisons spare most texts the regular expression.
BELOW = "A"
ABOVE = "\uff0b"
_FORMULA = re.compile(FORMULA)
_ESCAPED = re.compile(FORMULA.replace("'*", "'+"))
Form = Literal["csv", "json", "cells"]
"""Formats that the database writes; ``cells`` is CSV for a program: no header and no escape of formulas."""
BuiltForm = Literal["xlsx", "parquet"]
"""Formats that are complete before their first byte is sent: a child process writes them from ``cells``."""


class FileForm(Struct, frozen=True):
    """Format of an exported file; ``built`` is its name among the formats that a child process writes, else None."""

    media_type: str
    built: BuiltForm | None = None


FILE_FORMS: Mapping[str, FileForm] = {
    "csv": FileForm("text/csv"),
    "xlsx": FileForm("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", built="xlsx"),
    "json": FileForm("application/json"),
    "parquet": FileForm("application/vnd.apache.parquet", built="parquet"),
}
"""Formats of an export by their name, which is also the ending of the file."""


class Column(Struct, frozen=True):
    """A column of an exported file: the field at the end of ``steps``, such as ``category.name``."""

    name: str
    steps: tuple[str, ...]
    field: FieldModel


def ensure_row_count(model: EntityModel, count: int) -> None:
    """Raises PayloadTooLarge for more rows than an imported file of this entity may have."""
    most = MOST_ASKED_ROWS if model.asks_other_rows else MOST_ROWS
    if count <= most:
        return
    if model.asks_other_rows:
        raise PayloadTooLarge(f"A file of rows whose rule reads other rows may have {most} rows at most.")
    raise PayloadTooLarge(f"A file may have {most} rows at most.")


def exported_columns(registry: Registry, model: EntityModel, view: View, *, shows_tenant: bool) -> list[Column]:
    """Columns of an export: the fields of a row in their order, then those of each included row.

    ``shows_tenant`` adds ``tenantId`` behind the id, for exports over all tenants.
    """
    found: list[Column] = []
    for steps in ((), *view.include):
        target = at_end(registry, model, steps)
        names = response_fields(target, view, steps)
        fields = [target.by_name[name] for name in names]
        found += [Column(".".join((*steps, field.wire)), steps, field) for field in fields]
        # Rows of several tenants can have the same values: the tenant stands right behind the id.
        if shows_tenant and target.tenant_owned and "tenant_id" not in names:
            found.insert(len(found) - len(fields) + 1, Column(".".join((*steps, "tenantId")), steps, TENANT))
    return found


class RelatedColumns(Struct, frozen=True):
    """Columns of included rows that an export makes for a caller, ``category.name``, by names in lower case.

    ``fields`` are those of each entity that to-one relations lead to, ``ways`` the entities that its relations lead to.
    """

    fields: Mapping[str, frozenset[str]]
    ways: Mapping[str, Mapping[str, str]]

    def has(self, plural: str, column: str) -> bool:
        *steps, name = column.lower().split(".")
        if not 1 <= len(steps) <= MAX_STEPS:
            return False
        for step in steps:
            if (target := self.ways.get(plural, {}).get(step)) is None:
                return False
            plural = target
        return name in self.fields.get(plural, ())


NO_RELATED_COLUMNS = RelatedColumns({}, {})


def related_columns(registry: Registry, model: EntityModel, hidden: Hidden) -> RelatedColumns:
    fields: dict[str, frozenset[str]] = {}
    ways: dict[str, Mapping[str, str]] = {}
    waiting = [model]
    while waiting:
        if (reached := waiting.pop()).plural in fields:
            continue
        relations = registry.relations_of(reached, hidden)
        ways[reached.plural] = {each.name.lower(): each.target for each in relations if not each.is_many}
        seen = {field.wire.lower() for field in reached.fields if (reached.plural, field.name) not in hidden}
        fields[reached.plural] = frozenset(seen | ({TENANT.wire.lower()} if reached.tenant_owned else set()))
        waiting += [registry[plural] for plural in ways[reached.plural].values()]
    return RelatedColumns(fields, ways)


def escaped(text: str) -> str:
    """The text as a CSV cell that no spreadsheet runs: ``=1+1`` becomes ``'=1+1`` (OWASP: CSV injection)."""
    return f"'{text}" if may_be_formula(text) and _FORMULA.match(text) else text


def may_be_formula(text: str) -> bool:
    """Whether the text sorts where formulas do; most texts do not."""
    return text < BELOW or text >= ABOVE


def unescaped(text: str) -> str:
    """The text without the apostrophe of ``escaped``: ``'=1+1`` becomes ``=1+1``; other texts are unchanged."""
    return text[1:] if text.startswith("'") and _ESCAPED.match(text) else text


class RowError(Struct, frozen=True):
    """An error of a row; ``row`` counts as a spreadsheet shows it: the header is row 1, the first data row is row 2.

    ``message`` has all errors of the row in one line, ``details`` has them apart. A Parquet file has no header row, and
    is counted alike: the same rows have the same numbers in every format.
    """

    row: int
    message: str
    details: tuple[FieldError, ...] = ()
    sentence: ClassVar[str] = ValidationError.sentence

    @classmethod
    def on(cls, row: int, fields: Sequence[FieldError]) -> Self:
        return cls(row, sentence(fields), tuple(fields))

    def without(self, hidden: frozenset[str]) -> Self:
        """The error for somebody to whom the ``hidden`` fields do not exist."""
        kept = [wrong for wrong in self.details if not wrong.is_about(hidden)]
        if len(kept) == len(self.details):
            return self
        return self.on(self.row, kept) if kept else type(self)(self.row, self.sentence)


class BrokenRow(RowError, frozen=True):
    """An error of a row that the entity's rule refuses."""

    sentence: ClassVar[str] = UnprocessableEntity.sentence


def stale(row: int, version: int, stored: int) -> RowError:
    """The error of a row that is older than the stored one."""
    message = f"is {version}, but the stored row has {stored}: it was changed since; export it again"
    return RowError.on(row, [FieldError("version", message)])


def not_writable(row: int, model: EntityModel, names: Iterable[str]) -> RowError:
    """The error of a row that would give other values to fields that the caller may not write."""
    return RowError.on(row, [FieldError(model.by_name[name].wire, NOT_WRITABLE) for name in names])


class RowFault(FieldError, frozen=True):
    """An error of a row among the details of a response; ``details`` names each of its fields."""

    row: int
    details: tuple[FieldError, ...] = ()


def sentence(fields: Sequence[FieldError]) -> str:
    """The errors of a row in one line: ``sku: is required; price: takes a number``."""
    return "; ".join(f"{error.field}: {error.message}" for error in fields)


class FileColumn(Struct, frozen=True):
    """A column of an imported file. ``field`` is what it fills, null for nothing; ``samples`` are some of its cells."""

    name: str
    field: str | None
    samples: tuple[str, ...]


class FileHeader(Struct, frozen=True, kw_only=True):
    """Header of a file in the report of a dry run; ``row`` is its number.

    ``sheets`` are the visible worksheets of a workbook, at most 100, and ``sheet`` is the one that was read.
    ``suggested`` are options that fit the file better than the given ones.
    """

    row: int
    columns: tuple[FileColumn, ...]
    suggested: Suggested = Suggested()
    sheets: tuple[str, ...] = ()
    sheet: str | None = None
