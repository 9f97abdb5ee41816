"""A row's cells, validated as a JSON body would be, and written as the database takes them."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum

import msgspec
from uuid_utils.compat import uuid7

from adapters.sheets.frames import ReadJob
from domain.csv_rows import Cells, quoted
from domain.entity import EntityModel, FieldModel, Kind
from domain.errors import BadRequest, FieldError, ValidationError
from domain.forms import read_changes, read_new
from domain.sheet import RowError, cell_value, sentence, unescaped

_TEXTS = (Kind.TEXT, Kind.CHOICE)
NOT_THEIRS = "cannot be made with your permissions"
NO_TEXT = "contains a character that no text can hold"
Cell = Callable[[str], object]


class RowText:
    """``fields`` are those of the file's columns, None where the server owns one."""

    def __init__(
        self, model: EntityModel, fields: Sequence[FieldModel | None], job: ReadJob, *, is_escaped: bool
    ) -> None:
        self._model = model
        self._columns = [None if one is None else (one, _reader(one, is_escaped)) for one in fields]
        self._is_upsert = job.options.mode == "upsert"
        self._concealed = job.may.unknown | job.may.closed
        self._writers = [(one.name, _writer(one)) for one in model.declared]

    def line(self, number: int, cells: Cells) -> str | RowError:
        """Raises BadRequest for a row of another length than the header."""
        if len(cells) != len(self._columns):
            raise BadRequest(f"Row {number} has {len(cells)} cells where the header has {len(self._columns)}.")
        body: dict[str, object] = {}
        for column, cell in zip(self._columns, cells, strict=True):
            if column is None:
                continue
            one, read = column
            if cell is not None:
                body[one.wire] = read(cell)
            elif one.nullable:
                body[one.wire] = None
        try:
            return self._upserted(number, body) if self._is_upsert else self._made(number, body)
        except ValidationError as error:
            return RowError(number, self._said(error))

    def _said(self, error: ValidationError) -> str:
        """Without the fields that do not exist for the caller, or are not theirs to write."""
        return sentence([one for one in error.fields if one.field not in self._concealed]) or NOT_THEIRS

    def _made(self, number: int, body: dict[str, object]) -> str:
        return f"{number},{uuid7()},{self._written(self._new(body))}\n"

    def _upserted(self, number: int, body: dict[str, object]) -> str:
        """As a change, which it must be fit for; and as a new row, which it may be."""
        changes = read_changes(self._model, body)
        given = "".join("01"[one.name in changes] for one in self._model.declared)
        try:
            values, refused = self._new(body), ""
        except ValidationError as error:
            values, refused = {one.name: changes.get(one.name) for one in self._model.declared}, self._said(error)
        return f'{number},{uuid7()},"{given}",{quoted(refused) if refused else ""},{self._written(values)}\n'

    def _new(self, body: dict[str, object]) -> dict[str, object]:
        values = read_new(self._model, body)
        if broken := self._model.broken_rules(values, None):
            raise ValidationError(fields=broken)
        return values

    def _written(self, values: dict[str, object]) -> str:
        return ",".join([write(values[name]) for name, write in self._writers])


def _reader(one: FieldModel, is_escaped: bool) -> Cell:
    if one.kind not in _TEXTS:
        return lambda cell: cell_value(one, _storable(one, cell))
    if is_escaped:
        return lambda cell: unescaped(_storable(one, cell))
    return lambda cell: _storable(one, cell)


def _storable(one: FieldModel, cell: str) -> str:
    if "\0" in cell or not (cell.isascii() or _is_unicode(cell)):
        raise ValidationError(fields=[FieldError(one.wire, NO_TEXT)])
    return cell


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _writer(one: FieldModel) -> Callable[[object], str]:
    if one.kind in (Kind.UUIDS, Kind.TEXTS):
        return lambda value: "" if value is None else quoted(msgspec.json.encode(value).decode())
    return _text


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, Enum):
        return quoted(str(value.value))
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)
