"""Rows in and out of files: columns and cells, the formula escape and its undoing, row errors. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec import Struct, field

from domain.entities.bodies import EVERYTHING, NOT_THEIRS, Sendable
from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry
from domain.entities.forms import read_form
from domain.entities.query.query import View, at_end, shown
from domain.entities.registry import SERVER_OWNED
from domain.errors import FieldError, Forbidden, ValidationError, unknown_name

LARGEST_FILE = 50 * 1024 * 1024
LARGEST_INFLATED = 200 * 1024 * 1024
MOST_ROWS = 200_000
MOST_COLUMNS = 1_000
MOST_ERRORS = 1_000
MOST_XLSX_ROWS = 1_048_575
"""Under the header, in a sheet."""
LONGEST_XLSX_TEXT = 32_767

FORMULA = r"^'*[-=+@\t\r\n]"
"""What a spreadsheet would run, behind any number of apostrophes; every such beginning sorts before ``BELOW``."""
BELOW = "A"
_FORMULA = re.compile(FORMULA)
_ESCAPED = re.compile(r"'+[-=+@\t\r\n]")
_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?")
_BOOLEANS = {"true": True, "false": False}
_SERVER_OWNED = {one.wire.lower() for one in SERVER_OWNED}
_SAID = 20
"""How many wrong columns are named; one mistaken delimiter makes thousands."""

Mode = Literal["create", "upsert"]
Form = Literal["csv", "json", "cells"]
"""``cells`` is CSV for a machine: no header, no formula escape."""


class Column(Struct, frozen=True):
    """A column of an exported file: the field at the end of the relations ``steps``."""

    name: str
    steps: tuple[str, ...]
    field: FieldModel


def exported_columns(registry: Registry, model: EntityModel, view: View, *, shows_tenant: bool) -> list[Column]:
    """The fields of a list's item in their order, then those of each included row by their dotted names."""
    found: list[Column] = []
    for steps in ((), *view.include):
        target = at_end(registry, model, steps)
        names = shown(target, view, steps)
        fields = [target.by_name[name] for name in names]
        found += [Column(".".join((*steps, one.wire)), steps, one) for one in fields]
        if shows_tenant and target.tenant_owned and "tenant_id" not in names:
            found.insert(len(found) - len(fields) + 1, Column(".".join((*steps, "tenantId")), steps, TENANT))
    return found


TENANT = next(one for one in SERVER_OWNED if one.name == "tenant_id")


def escaped(text: str) -> str:
    """As it stands in a CSV file: nothing that a spreadsheet would run."""
    return f"'{text}" if text < BELOW and _FORMULA.match(text) else text


def unescaped(text: str) -> str:
    return text[1:] if text.startswith("'") and _ESCAPED.match(text) else text


class ImportOptions(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """``columns`` leads from a column of the file to the JSON name that it stands for; ``sheet`` counts from 1."""

    mode: Mode = "create"
    key: str | None = None
    atomic: bool = False
    dry_run: bool = False
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | int | None = None
    columns: dict[str, str] = field(default_factory=dict)


def read_options(model: EntityModel, body: Mapping[str, object]) -> ImportOptions:
    """Raises ValidationError on what is wrong, each name beginning with ``options.``."""
    try:
        options = read_form(ImportOptions, body)
    except ValidationError as error:
        fields = [FieldError(f"options.{one.field}", one.message) for one in error.fields]
        raise ValidationError(fields=fields) from None
    wrong = list(_wrong_options(model, options))
    if wrong:
        raise ValidationError(fields=wrong)
    return options


def _wrong_options(model: EntityModel, options: ImportOptions) -> Iterator[FieldError]:
    if options.delimiter is not None and (len(options.delimiter) != 1 or options.delimiter in '"\r\n\0'):
        yield FieldError("options.delimiter", "takes one character that is neither a quote nor a line break")
    if options.mode == "create":
        if options.key is not None:
            yield FieldError("options.key", "is for the mode upsert")
        return
    keys = [model.by_name[one.fields[0]].wire for one in model.unique if len(one.fields) == 1]
    if options.key is None:
        if len(keys) != 1:
            yield FieldError("options.key", f"is required: it takes one of {', '.join(keys) or 'nothing here'}")
    elif options.key.lower() not in {one.lower() for one in keys}:
        yield FieldError("options.key", f"takes a unique field: {', '.join(keys) or 'there is none'}")


def key_field(model: EntityModel, options: ImportOptions) -> FieldModel:
    """By which an upsert finds the row that is there; the only one there is needs no naming."""
    if options.key is not None:
        return model.by_wire[options.key.lower()]
    return next(model.by_name[one.fields[0]] for one in model.unique if len(one.fields) == 1)


def read_header(
    model: EntityModel, names: Sequence[str | None], renames: Mapping[str, str], may: Sendable = EVERYTHING
) -> list[FieldModel | None]:
    """The field of each column, None for those that the server owns.

    Raises ValidationError naming the others, Forbidden for those that are not the caller's to write.
    """
    if len(names) > MOST_COLUMNS:
        raise ValidationError.on("file", f"has {len(names)} columns; at most {MOST_COLUMNS} are taken")
    renamed = {name.strip().lower(): target for name, target in renames.items()}
    known = [one.wire for one in model.declared if one.wire not in may.unknown]
    by_wire = {wire.lower(): model.by_wire[wire.lower()] for wire in known}
    errors: list[FieldError] = []
    found: list[FieldModel | None] = []
    for number, name in enumerate(names, start=1):
        said = (name or "").strip()
        wire = renamed.pop(said.lower(), said)
        one = by_wire.get(wire.lower())
        if one is not None and one in found:
            errors.append(FieldError(said, f"stands for {one.wire!r}, which another column stands for already"))
        if one is None and not _is_ignored(model, wire):
            errors.append(FieldError(said or f"column {number}", _unknown(said, wire, known)))
        found.append(one)
    errors += [FieldError(f"options.columns.{name}", "is no column of the file") for name in renamed]
    if not errors and not any(found):
        errors.append(FieldError("file", f"has no column that is taken; there are {', '.join(known)}"))
    if errors:
        raise ValidationError(fields=errors[:_SAID])
    if closed := [FieldError(one.wire, NOT_THEIRS) for one in found if one is not None and one.wire in may.closed]:
        raise Forbidden(fields=closed)
    return found


def _is_ignored(model: EntityModel, wire: str) -> bool:
    """What an export writes and the server owns: audit fields, and the fields of included rows."""
    relation, dot, _ = wire.lower().partition(".")
    return wire.lower() in _SERVER_OWNED or (bool(dot) and relation in {name.lower() for name in model.relations})


def _unknown(said: str, wire: str, known: Sequence[str]) -> str:
    if not said:
        return "has no name"
    return unknown_name(wire, known) if wire == said else f"is renamed to {wire!r}, which {unknown_name(wire, known)}"


def cell_value(one: FieldModel, text: str) -> object:
    """What the cell would be in a JSON body; text that is no such value stays text, and is refused as in a body."""
    read = READERS.get(one.kind)
    return text if read is None else read(text)


def _integer(text: str) -> object:
    return int(text) if _INTEGER.fullmatch(text) else text


def _float(text: str) -> object:
    return float(text) if _NUMBER.fullmatch(text) else text


def _list(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


READERS: Mapping[Kind, Callable[[str], object]] = {
    Kind.INTEGER: _integer,
    Kind.BIG_INTEGER: _integer,
    Kind.FLOAT: _float,
    Kind.BOOLEAN: lambda text: _BOOLEANS.get(text.lower(), text),
    Kind.UUIDS: _list,
    Kind.TEXTS: _list,
}
"""Cells of other kinds are text, as in a body."""


class RowError(Struct, frozen=True):
    """``row`` is counted as a person sees it: the header is row 1."""

    row: int
    message: str


class RowFault(FieldError, frozen=True):
    """A row's error among an answer's details."""

    row: int


def sentence(fields: Sequence[FieldError]) -> str:
    """All that is wrong with a row, in one line."""
    return "; ".join(f"{one.field}: {one.message}" for one in fields)


class Report(Struct, frozen=True, kw_only=True):
    """``failed`` counts the rows with errors, of which ``errors`` lists the first."""

    imported: int
    skipped: int
    failed: int
    errors: tuple[RowError, ...]
