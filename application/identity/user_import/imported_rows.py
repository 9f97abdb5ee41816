"""Files of users: CSV with a header, or one JSON object per line."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from msgspec import Struct

from domain.errors import BadRequest, FieldError, ValidationError, unknown_name
from domain.forms import read_form

Form = Literal["csv", "jsonl"]


class ImportedUser(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A user in the file.

    ``tenant`` is a tenant's identifier and ``roles`` are names of roles in that tenant; ``password_hash`` comes from
    the other system.
    """

    email: str
    full_name: str
    phone_number: str | None = None
    profile_picture_url: str | None = None
    password_hash: str | None = None
    email_confirmed: bool = False
    is_active: bool = True
    tenant: str | None = None
    roles: tuple[str, ...] = ()


class Row(Struct, frozen=True):
    """A row of the file; ``number`` is the line as an editor shows it: the header of a CSV file is row 1.

    With errors, ``user`` has the readable values, and empty values for the fields in ``errors``.
    """

    number: int
    user: ImportedUser | None
    errors: tuple[FieldError, ...] = ()


REQUIRED = {"email", "fullName"}
COLUMNS = {name.lower(): name for name in ImportedUser.__struct_encode_fields__}
_NAMES = frozenset(COLUMNS.values())
_FLAGS = ("emailConfirmed", "isActive")
_TRUE, _FALSE = ("true", "yes", "1", "t"), ("false", "no", "0", "f")


def read_rows(lines: Iterable[str], form: Form) -> Iterator[Row]:
    """Read the file row by row; an invalid row has errors. Raises BadRequest for a file unreadable as a whole."""
    try:
        yield from _csv_rows(lines) if form == "csv" else _json_rows(lines)
    except UnicodeDecodeError:
        raise BadRequest("The file is not UTF-8.") from None
    except csv.Error as error:
        raise BadRequest(f"The file is not CSV: {error}.") from None


def _csv_rows(lines: Iterable[str]) -> Iterator[Row]:
    reader = csv.reader(lines, strict=True)
    columns = [_column(name) for name in next(reader, [])]
    if missing := REQUIRED - set(columns):
        raise BadRequest(f"The file has no column {', '.join(sorted(missing))}; its first row names the columns.")
    if len(set(columns)) < len(columns):
        raise BadRequest("A column stands twice in the first row.")
    for number, cells in enumerate(reader, start=2):
        if len(cells) > len(columns):
            yield Row(number, None, (FieldError("", "has more cells than the file has columns"),))
        elif any(cells):
            named = zip(columns, cells, strict=False)
            given = {name: _cell(name, cell) for name, cell in named if cell != "" or name in REQUIRED}
            yield _row(number, given)


def _column(name: str) -> str:
    known = COLUMNS.get(name.strip().replace("_", "").lower())
    if known is None:
        if any(mark in name for mark in ";\t"):
            raise BadRequest("The columns of the first row are not separated by commas: save the file as such a CSV.")
        said = f"The column {name.strip()!r} {unknown_name(name.strip(), COLUMNS.values())}"
        raise BadRequest(said if said.endswith("?") else f"{said}.")
    return known


def _cell(name: str, cell: str) -> object:
    if name == "roles":
        return [role.strip() for role in cell.replace("|", ";").split(";") if role.strip()]
    if name in _FLAGS and cell.strip().lower() in (*_TRUE, *_FALSE):
        return cell.strip().lower() in _TRUE
    return cell


def _json_rows(lines: Iterable[str]) -> Iterator[Row]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            yield Row(number, None, (FieldError("", "is not a JSON object"),))
            continue
        # Some systems export a hash with its parameters as an object: store it as text.
        if isinstance(given.get("passwordHash"), dict):
            given["passwordHash"] = json.dumps(given["passwordHash"])
        yield _row(number, given)


def _row(number: int, given: Mapping[str, object]) -> Row:
    # PostgreSQL cannot store NUL.
    broken = tuple(
        FieldError(name, "contains the character NUL, which cannot be stored")
        for name, value in given.items()
        if "\x00" in str(value)
    )
    if broken:
        return Row(number, None, broken)
    try:
        return Row(number, read_form(ImportedUser, given))
    except ValidationError as error:
        wrong = {refused.field.partition("[")[0] for refused in error.fields}
        read = {name: value for name, value in given.items() if name in _NAMES and name not in wrong}
        return Row(number, read_form(ImportedUser, {"email": "", "fullName": "", **read}), error.fields)
