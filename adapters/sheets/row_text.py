"""Rows of a file, validated like a JSON body and written as text for COPY."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, cast

import msgspec
from uuid_utils import uuid7

from adapters.sheets.frames import ReadJob
from domain.entities.bodies import NOT_WRITABLE
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.files.cells import READERS, WrongCell, read_integer
from domain.entities.files.csv_rows import Cells, quoted
from domain.entities.files.spelling import cell_reader
from domain.entities.forms import read_changes, read_new
from domain.entities.kinds import LISTS, TEXTS, Kind
from domain.entities.sheets import RowError, unescaped
from domain.errors import FieldError, Forbidden, ValidationError
from domain.forms import MOST_WITHIN

REFUSED_BY_GUARDED_FIELD = "cannot be made with your permissions"
_LARGEST_VERSION = 2**31 - 1
NO_NAME = "has a value, and no name in the header"
NO_TEXT = "contains a character that no text can hold"


class RowText:
    """Validates rows and writes them as CSV lines for the database.

    ``fields`` are those of the file's columns, None where the server sets the field itself; ``version`` is the position
    of the column with the rows' versions, compared by an upsert; ``nameless`` are positions of columns without a name.
    """

    def __init__(
        self,
        model: EntityModel,
        fields: Sequence[FieldModel | None],
        job: ReadJob,
        *,
        is_text: bool,
        version: int | None = None,
        nameless: Sequence[int] = (),
    ) -> None:
        # Group the columns by kind once, because every row uses these lists.
        taken = [(place, field) for place, field in enumerate(fields) if field is not None]
        self._model = model
        self._width = len(fields)
        self._nameless = nameless
        self._taken = [(place, field.wire) for place, field in taken]
        self._escaped = [(place, field.wire) for place, field in taken if is_text and field.kind in TEXTS]
        self._read = [
            (place, field.wire, read)
            for place, field in taken
            if (read := cell_reader(field.kind, job.options) if is_text else READERS[field.kind])
        ]
        self._trimmed = [(place, field.wire) for place, field in taken if field.kind not in (Kind.TEXT, *LISTS)]
        self._filled = [(place, field.wire) for place, field in taken if not field.nullable]
        self._closed = [field.wire for _, field in taken if field.wire in job.may.closed]
        self._is_upsert = job.options.mode == "upsert"
        self._version = version if self._is_upsert else None
        self._concealed = job.may.unknown | job.may.closed
        self._writers = [(field.name, _WRITERS[field.kind]) for field in model.declared]

    def line(self, number: int, cells: Cells, *, explains: bool = True) -> str | RowError:
        """Line for the database, or the row's errors.

        Where nobody will read the errors, ``explains`` is false and they may be incomplete: such a row takes less time.
        """
        if len(cells) != self._width:
            return RowError(number, f"has {len(cells)} cells where the header has {self._width}")
        if self._nameless and (filled := [place for place in self._nameless if cells[place] is not None]):
            return RowError.on(number, [FieldError(f"column {place + 1}", NO_NAME) for place in filled])
        try:
            body = self._body(cells, explains)
            if self._is_upsert:
                return self._upserted(
                    number, body, "" if self._version is None else _version(cells[self._version]), explains
                )
            return self._made(number, body, explains)
        except (ValidationError, Forbidden) as error:
            return self._error(number, error)

    def _body(self, cells: Cells, explains: bool) -> dict[str, object]:
        body: dict[str, object] = {wire: cells[place] for place, wire in self._taken}
        text = "".join(filter(None, cells))  # few rows need a check of each cell
        if "\0" in text or not (text.isascii() or _is_unicode(text)):
            _ensure_storable(body)
        if "'" in text:
            body |= {wire: unescaped(cell) for place, wire in self._escaped if (cell := cells[place]) is not None}
        body |= self._trimmed_cells(text, cells)
        self._read_cells(cells, body, explains)
        _ensure_storable_items(text, body)
        if None in cells:
            # An empty cell of a non-nullable field counts as not sent, so the default applies.
            for place, wire in self._filled:
                if cells[place] is None:
                    del body[wire]
        return body

    def _read_cells(self, cells: Cells, body: dict[str, object], explains: bool) -> None:
        wrong: list[FieldError] = []
        for place, wire, read in self._read:
            if cells[place] is not None:
                try:
                    body[wire] = read(cast(str, body[wire]))
                except WrongCell as error:
                    if not explains:
                        raise ValidationError from None
                    wrong.append(FieldError(wire, str(error)))
        if wrong:
            raise ValidationError(fields=wrong)

    def _trimmed_cells(self, text: str, cells: Cells) -> dict[str, object]:
        """Non-text values without surrounding blanks."""
        if " " not in text and "\t" not in text:
            return {}
        return {wire: cell.strip() for place, wire in self._trimmed if (cell := cells[place])}

    def _error(self, number: int, error: ValidationError | Forbidden) -> RowError:
        told = list(error.fields) if isinstance(error, Forbidden) else self._told(error)
        return RowError.on(number, told) if told else RowError(number, REFUSED_BY_GUARDED_FIELD)

    def _told(self, error: ValidationError) -> list[FieldError]:
        """Errors of fields that the caller may see and write."""
        return [wrong for wrong in error.fields if not wrong.is_about(self._concealed)]

    def _without_closed(self, body: dict[str, object]) -> dict[str, object]:
        return {wire: body.pop(wire) for wire in self._closed if wire in body}

    def _kept(self, closed: dict[str, object]) -> dict[str, object]:
        """Return values by Python name that the row may have only if they equal the stored values.

        Raises Forbidden for values that no row can have.
        """
        try:
            return read_changes(self._model, closed) if closed else {}
        except ValidationError as error:
            raise _forbidden(sorted({wrong.field.partition("[")[0] for wrong in error.fields})) from None

    def _made(self, number: int, body: dict[str, object], explains: bool) -> str:
        kept = self._kept(self._without_closed(body))
        return f"{number},{uuid7()},{self._written(self._new(body, kept, explains))}\n"

    def _upserted(self, number: int, body: dict[str, object], version: str, explains: bool) -> str:
        """Return the line for a row that the database updates or creates.

        The row must be valid as a change. If it is invalid as a new row, the line contains that error as JSON.
        """
        closed = self._without_closed(body)
        changes = read_changes(self._model, body, explains=explains)
        kept = self._kept(closed)
        given = "".join("2" if name in kept else "01"[name in changes] for name in self._model.names)
        try:
            values, refused = self._new(body, kept, explains), ""
        except (ValidationError, Forbidden) as error:
            values = {name: (kept if name in kept else changes).get(name) for name in self._model.names}
            refused = msgspec.json.encode(self._error(number, error)).decode()
        own = f'{number},{uuid7()},"{given}",{quoted(refused) if refused else ""},{version}'
        return f"{own},{self._written(values)}\n"

    def _new(self, body: dict[str, object], kept: dict[str, object], explains: bool) -> dict[str, object]:
        """Return the values of a new row. Raises Forbidden if a closed field differs from its default."""
        fields = self._model.by_name
        if required := [name for name in kept if fields[name].required]:
            raise _forbidden(fields[name].wire for name in required)
        values = read_new(self._model, body, explains=explains)
        if other := [name for name, value in kept.items() if values[name] != value]:
            raise _forbidden(fields[name].wire for name in other)
        if broken := self._model.broken_rules(values, None):
            raise ValidationError(fields=broken)
        return values

    def _written(self, values: dict[str, object]) -> str:
        return ",".join(["" if (value := values[name]) is None else write(value) for name, write in self._writers])


def _forbidden(names: Iterable[str]) -> Forbidden:
    return Forbidden(fields=[FieldError(name, NOT_WRITABLE) for name in names])


def _version(cell: str | None) -> str:
    if cell is None:
        return ""
    number = read_integer(cell)
    # A 32-bit integer, as stored.
    if not (isinstance(number, int) and 1 <= number <= _LARGEST_VERSION):
        raise ValidationError(fields=[FieldError("version", f"must be a whole number from 1 to {_LARGEST_VERSION}")])
    return str(number)


def _ensure_storable(cells: Mapping[str, object]) -> None:
    for wire, cell in cells.items():
        if isinstance(cell, str) and ("\0" in cell or not _is_unicode(cell)):
            raise ValidationError(fields=[FieldError(wire, NO_TEXT)])


def _ensure_storable_items(text: str, body: Mapping[str, object]) -> None:
    """Raise ValidationError for list items with a NUL; msgspec refuses lone surrogates."""
    if "\\u0000" not in text:
        return
    lists = ((wire, cell) for wire, cell in body.items() if isinstance(cell, list))
    items = ((f"{wire}[{n}]", item) for wire, cell in lists for n, item in enumerate(cell))
    if wrong := [FieldError(place, NO_TEXT) for place, item in items if isinstance(item, str) and "\0" in item]:
        raise ValidationError(fields=wrong[:MOST_WITHIN])


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _choice(value: Any) -> str:
    return quoted(value.value if isinstance(value, Enum) else value)


def _list(value: object) -> str:
    return quoted(msgspec.json.encode(value).decode())


def _uuid(value: Any) -> str:
    return f"{value.int:032x}"  # str() would insert hyphens and double the time


_WRITERS: dict[Kind, Callable[[Any], str]] = {
    Kind.TEXT: quoted,
    Kind.INTEGER: str,
    Kind.BIG_INTEGER: str,
    Kind.DECIMAL: str,
    Kind.FLOAT: str,
    Kind.BOOLEAN: str,
    Kind.TIMESTAMP: datetime.isoformat,
    Kind.DATE: str,
    Kind.UUID: _uuid,
    Kind.CHOICE: _choice,
    Kind.UUIDS: _list,
    Kind.TEXTS: _list,
    Kind.LINKS: _list,
}
"""Writers of non-null values in the database's input format."""
