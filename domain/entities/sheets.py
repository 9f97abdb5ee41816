"""Rows as files: exported columns, the escape of formulas, and errors of rows."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal, Self

from msgspec import Struct

from domain.entities.bodies import NOT_WRITABLE
from domain.entities.declaration import TENANT, EntityModel, FieldModel, Hidden, Registry
from domain.entities.files.suggestions import Suggested
from domain.entities.owning import not_yours
from domain.entities.query.query import MAX_STEPS, View, at_end
from domain.entities.query.responses import response_fields
from domain.errors import FieldError, NotYours, PayloadTooLarge, UnprocessableEntity, ValidationError

LARGEST_FILE = 50 * 1024 * 1024
LARGEST_INFLATED = 200 * 1024 * 1024
MOST_ROWS = 200_000
MOST_ASKED_ROWS = 10_000
"""Maximum number of imported rows if a rule reads other rows, because the service writes and checks each row
separately.
"""
MOST_ERRORS = 1_000
MOST_XLSX_ROWS = 1_048_575
"""Maximum rows of an xlsx sheet below its header."""
LONGEST_XLSX_TEXT = 32_767

FORMULA = r"^'*[-=+@\t\r\n\uFF0B\uFF0D\uFF1D\uFF20]"
"""Pattern of texts that a spreadsheet would run as a formula, also after apostrophes; includes full-width signs."""
# Every formula text sorts before BELOW or from ABOVE on, so most texts need no regular expression.
BELOW = "A"
ABOVE = "\uff0b"
_FORMULA = re.compile(FORMULA)
_ESCAPED = re.compile(FORMULA.replace("'*", "'+"))
Form = Literal["csv", "json", "cells"]
"""Formats written by the database. ``cells`` is CSV for programs, without a header and formula escapes."""
BuiltForm = Literal["xlsx", "parquet"]
"""Formats complete before the response begins: a child process converts the format ``cells`` to them."""


class FileForm(Struct, frozen=True):
    """Format of an exported file. ``built`` is its name in the child process, or None for other formats."""

    media_type: str
    built: BuiltForm | None = None


FILE_FORMS: Mapping[str, FileForm] = {
    "csv": FileForm("text/csv"),
    "xlsx": FileForm("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", built="xlsx"),
    "json": FileForm("application/json"),
    "parquet": FileForm("application/vnd.apache.parquet", built="parquet"),
}
"""Export formats by name, also the file extension."""


class Column(Struct, frozen=True):
    """A column of an exported file: the field at the end of ``steps``, a path such as ``category.name``."""

    name: str
    steps: tuple[str, ...]
    field: FieldModel


def ensure_row_count(model: EntityModel, count: int) -> None:
    """Raise PayloadTooLarge if a file has more rows than an import of this entity may have."""
    most = MOST_ASKED_ROWS if model.asks_other_rows else MOST_ROWS
    if count <= most:
        return
    if model.asks_other_rows:
        raise PayloadTooLarge(f"The entity has a rule on other rows, so a file may have at most {most} rows.")
    raise PayloadTooLarge(f"A file may have {most} rows at most.")


def exported_columns(registry: Registry, model: EntityModel, view: View, *, shows_tenant: bool) -> list[Column]:
    """Return the columns of an export: the row's fields in order, then the fields of each included row.

    For exports over all tenants, ``shows_tenant`` adds the column ``tenantId`` after the id.
    """
    found: list[Column] = []
    for steps in ((), *view.include):
        target = at_end(registry, model, steps)
        names = response_fields(target, view, steps)
        fields = [target.by_name[name] for name in names]
        found += [Column(".".join((*steps, field.wire)), steps, field) for field in fields]
        # Rows of several tenants can have the same values, so the export shows the tenant after the id.
        if shows_tenant and target.tenant_owned and "tenant_id" not in names:
            found.insert(len(found) - len(fields) + 1, Column(".".join((*steps, "tenantId")), steps, TENANT))
    return found


class RelatedColumns(Struct, frozen=True):
    """Columns of included rows in a caller's export, by lower-case names such as ``category.name``.

    ``fields`` has the fields of each entity reached through to-one relations; ``ways`` has the target entities of its
    relations.
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
    """Escape text in a CSV cell against formulas: ``=1+1`` becomes ``'=1+1`` (OWASP: CSV injection)."""
    return f"'{text}" if may_be_formula(text) and _FORMULA.match(text) else text


def may_be_formula(text: str) -> bool:
    """Return whether the text sorts in the range of formulas. Most texts do not and need no further check."""
    return text < BELOW or text >= ABOVE


def unescaped(text: str) -> str:
    """Undo ``escaped``: ``'=1+1`` becomes ``=1+1``; other texts are unchanged."""
    return text[1:] if text.startswith("'") and _ESCAPED.match(text) else text


class RowError(Struct, frozen=True):
    """An error of a row; ``row`` counts as a spreadsheet shows it: the header is row 1, the first data row is row 2.

    ``message`` has all errors of the row in one line, ``details`` has them separately. A Parquet file has no header row
    but is counted alike: the same rows have the same numbers in every format.
    """

    row: int
    message: str
    details: tuple[FieldError, ...] = ()
    sentence: ClassVar[str] = ValidationError.sentence

    @classmethod
    def on(cls, row: int, fields: Sequence[FieldError]) -> Self:
        return cls(row, sentence(fields), tuple(fields))

    def without(self, hidden: frozenset[str]) -> Self:
        """Return the error without the ``hidden`` fields."""
        kept = [wrong for wrong in self.details if not wrong.is_about(hidden)]
        if len(kept) == len(self.details):
            return self
        return self.on(self.row, kept) if kept else type(self)(self.row, self.sentence)


class BrokenRow(RowError, frozen=True):
    """A row refused by the entity's rule."""

    sentence: ClassVar[str] = UnprocessableEntity.sentence


def stale(row: int, version: int, stored: int) -> RowError:
    """Return the error of an imported row with an older version than the stored row."""
    message = f"is {version}, but the stored row has {stored}: it was changed since; export it again"
    return RowError.on(row, [FieldError("version", message)])


def not_writable(row: int, model: EntityModel, names: Iterable[str]) -> RowError:
    """Return the error of a row that changes fields without write permission."""
    return RowError.on(row, [FieldError(model.by_name[name].wire, NOT_WRITABLE) for name in names])


def not_own(row: int, model: EntityModel, given: str | None, *, is_loss: bool) -> RowError:
    """Return the error of a row that is not the caller's own, or with ``is_loss`` would not be.

    ``given`` has a ``1`` for each field that an upsert changes, and is None for a new row.
    """
    if not is_loss:
        return RowError(row, NotYours.sentence)
    sent = [name for name, flag in zip(model.names, given or "1" * len(model.names), strict=True) if flag == "1"]
    return RowError.on(row, [not_yours(model, sent)])


class RowFault(FieldError, frozen=True):
    """Error of one row in the details of a response; ``details`` has one error for each invalid field of the row."""

    row: int
    details: tuple[FieldError, ...] = ()


def sentence(fields: Sequence[FieldError]) -> str:
    """Return the errors of a row in one line: ``sku: is required; price: takes a number``."""
    return "; ".join(f"{error.field}: {error.message}" for error in fields)


class FileColumn(Struct, frozen=True):
    """A column of an imported file. ``field`` is its target, or null; ``samples`` are some of its cells."""

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
