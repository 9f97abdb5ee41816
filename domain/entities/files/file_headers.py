"""Headers of imported files: the field of each column, ignored columns, and the report of a dry run."""

from collections.abc import Mapping, Sequence

from domain.entities.bodies import EVERY_FIELD, FieldAccess
from domain.entities.declaration import SERVER_OWNED, VERSION, EntityModel, FieldModel
from domain.entities.files.options import ImportOptions, key_field
from domain.entities.sheets import NO_RELATED_COLUMNS, FileColumn, RelatedColumns
from domain.errors import FieldError, ValidationError, unknown_name

MOST_COLUMNS = 1_000
# Ignore these columns: an export contains them and those of included rows, and an import must accept the exported file.
_SERVER_OWNED = {field.wire.lower() for field in SERVER_OWNED}
_MOST_HEADER_ERRORS = 20
"""Maximum number of wrong columns in an error, because a wrong delimiter creates thousands of wrong columns."""
SAMPLE_ROWS = 3
"""Rows with cells in a dry run's report."""
LONGEST_NAME, LONGEST_SAMPLE = 200, 60
"""Maximum characters of names and sample cells in a dry run's report; longer ones are cut."""
MOST_SHEETS = 100


def read_header(
    model: EntityModel,
    names: Sequence[str | None],
    renames: Mapping[str, str | None],
    may: FieldAccess = EVERY_FIELD,
    related: RelatedColumns = NO_RELATED_COLUMNS,
) -> list[FieldModel | None]:
    """Return the field of each column, None for ignored columns.

    Ignored columns are the server's fields, ``related`` ones, columns without a name, and those with None in
    ``renames``. Raises ValidationError naming unknown and repeated columns (at most 20). Example: ``["id", "sku",
    "Price"]`` gives ``[None, <sku>, <price>]``.
    """
    if len(names) > MOST_COLUMNS:
        raise ValidationError.on("file", f"has {len(names)} columns; at most {MOST_COLUMNS} are taken")
    renamed = {name.strip().lower(): target for name, target in renames.items()}
    spelt = {name.strip().lower(): name for name in renames}
    known = [field.wire for field in model.declared if field.wire not in may.unknown]
    by_wire = {wire.lower(): model.by_wire[wire.lower()] for wire in known}
    errors: list[FieldError] = []
    found: list[FieldModel | None] = []
    for name in names:
        title = (name or "").strip()
        wire = renamed.get(title.lower(), title)
        spelt.pop(title.lower(), None)
        # Accept a column without a name here; a later check of each row refuses values in this column.
        if not wire:
            found.append(None)
            continue
        field = by_wire.get(wire.lower())
        if field is not None and field in found:
            errors.append(FieldError(title, f"means {field.wire!r}, as another column does already"))
        if field is None and not (wire.lower() in _SERVER_OWNED or related.has(model.plural, wire)):
            errors.append(FieldError(title, _unknown(title, wire, known)))
        found.append(field)
    # The remaining renamings name no column of the file.
    errors += [FieldError(f"options.columns.{name}", "is not a column of the file") for name in spelt.values()]
    if not errors and not any(found):
        errors.append(FieldError("file", f"has no column that is taken; there are {', '.join(known)}"))
    if errors:
        raise ValidationError(fields=errors[:_MOST_HEADER_ERRORS])
    return found


def nameless_places(names: Sequence[str | None], renames: Mapping[str, str | None]) -> list[int]:
    """Return the positions, from 0, of columns without a name, because their cells must be empty."""
    given = {name.strip() for name in renames}
    return [place for place, name in enumerate(names) if not (name or "").strip() and "" not in given]


def ensure_key(model: EntityModel, fields: Sequence[FieldModel | None], options: ImportOptions) -> None:
    """Raise ValidationError if the columns lack the key of an upsert."""
    if options.mode == "upsert" and (key := key_field(model, options)) not in fields:
        raise ValidationError.on("options.key", f"is {key.wire}, of which the file has no column")


def is_passed_over(field: FieldModel, options: ImportOptions) -> bool:
    """Return whether the field's cells are ignored: the server sets it, and an upsert does not compare it."""
    return field.server_owned and not (options.mode == "upsert" and field.name == VERSION.name)


def version_place(names: Sequence[str | None], renames: Mapping[str, str | None]) -> int | None:
    """Return the position of the first column ``version``, or None. An upsert compares it with the stored row."""
    wires = _lowered_wires(names, renames)
    return next((place for place, wire in enumerate(wires) if wire == VERSION.wire), None)


def fields_by_title(
    model: EntityModel, names: Sequence[str | None], renames: Mapping[str, str | None]
) -> list[FieldModel | None]:
    """Return the field of each column, None for unknown names. Unlike ``read_header``, it raises no errors."""
    return [model.by_wire.get(wire) for wire in _lowered_wires(names, renames)]


def shown_columns(
    model: EntityModel,
    names: Sequence[str | None],
    renames: Mapping[str, str | None],
    may: FieldAccess,
    rows: Sequence[Sequence[str | None]],
) -> tuple[FileColumn, ...]:
    """Return the columns for a dry run: each with its field, or None, and its cells in the first ``rows``."""
    names = names[:MOST_COLUMNS]
    shown: list[FileColumn] = []
    for place, (name, field) in enumerate(zip(names, fields_by_title(model, names, renames), strict=True)):
        is_filled = field is not None and not field.server_owned and field.wire not in may.unknown
        # A damaged row may be shorter than the header.
        cells = (row[place] for row in rows[:SAMPLE_ROWS] if place < len(row))
        samples = tuple(_cut(cell, LONGEST_SAMPLE) for cell in cells if cell)
        shown.append(FileColumn(shown_name(name), field.wire if field and is_filled else None, samples))
    return tuple(shown)


def shown_name(name: str | None) -> str:
    return _cut(name or "", LONGEST_NAME)


def _cut(text: str, longest: int) -> str:
    # A workbook can contain half of a surrogate pair, but JSON cannot.
    return text[:longest].encode("utf-8", "replace").decode()


def _lowered_wires(names: Sequence[str | None], renames: Mapping[str, str | None]) -> list[str]:
    renamed = {name.strip().lower(): (wire or "").lower() for name, wire in renames.items()}
    titles = [(name or "").strip().lower() for name in names]
    return [renamed.get(title, title) for title in titles]


def _unknown(title: str, wire: str, known: Sequence[str]) -> str:
    return unknown_name(wire, known) if wire == title else f"is renamed to {wire!r}, which {unknown_name(wire, known)}"
