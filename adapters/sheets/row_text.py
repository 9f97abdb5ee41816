"""A row's cells, validated as a JSON body would be, and written as the database takes them."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any

import msgspec
from uuid_utils import uuid7

from adapters.sheets.frames import ReadJob
from domain.entities.csv_rows import Cells, quoted
from domain.entities.declaration import EntityModel, FieldModel, Kind
from domain.entities.forms import read_changes, read_new
from domain.entities.sheets import READERS, RowError, sentence, unescaped
from domain.errors import BadRequest, FieldError, ValidationError

_TEXTS = (Kind.TEXT, Kind.CHOICE)
NOT_THEIRS = "cannot be made with your permissions"
NO_TEXT = "contains a character that no text can hold"


class RowText:
    """``fields`` are those of the file's columns, None where the server owns one."""

    def __init__(
        self, model: EntityModel, fields: Sequence[FieldModel | None], job: ReadJob, *, is_escaped: bool
    ) -> None:
        taken = [(place, one) for place, one in enumerate(fields) if one is not None]
        self._model = model
        self._width = len(fields)
        self._taken = [(place, one.wire) for place, one in taken]
        self._escaped = [(place, one.wire) for place, one in taken if is_escaped and one.kind in _TEXTS]
        self._read = [(place, one.wire, READERS[one.kind]) for place, one in taken if one.kind in READERS]
        self._filled = [(place, one.wire) for place, one in taken if not one.nullable]
        self._is_upsert = job.options.mode == "upsert"
        self._concealed = job.may.unknown | job.may.closed
        self._writers = [(one.name, _WRITERS.get(one.kind, str)) for one in model.declared]

    def line(self, number: int, cells: Cells) -> str | RowError:
        """Raises BadRequest for a row of another length than the header."""
        if len(cells) != self._width:
            raise BadRequest(f"Row {number} has {len(cells)} cells where the header has {self._width}.")
        body = self._body(cells)
        try:
            return self._upserted(number, body) if self._is_upsert else self._made(number, body)
        except ValidationError as error:
            return RowError(number, self._said(error))

    def _body(self, cells: Cells) -> dict[str, object]:
        body: dict[str, object] = {wire: cells[place] for place, wire in self._taken}
        text = "".join(filter(None, cells))
        if "\0" in text or not (text.isascii() or _is_unicode(text)):
            _ensure_storable(body)
        if "'" in text:
            body |= {wire: unescaped(cell) for place, wire in self._escaped if (cell := cells[place]) is not None}
        for place, wire, read in self._read:
            if (cell := cells[place]) is not None:
                body[wire] = read(cell)
        if None in cells:
            for place, wire in self._filled:
                if cells[place] is None:
                    del body[wire]
        return body

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
        return ",".join(["" if (value := values[name]) is None else write(value) for name, write in self._writers])


def _ensure_storable(cells: Mapping[str, object]) -> None:
    for wire, cell in cells.items():
        if isinstance(cell, str) and ("\0" in cell or not _is_unicode(cell)):
            raise ValidationError(fields=[FieldError(wire, NO_TEXT)])


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
    """Without its hyphens, which take as long as the digits."""
    return f"{value.int:032x}"


_WRITERS: dict[Kind, Callable[[Any], str]] = {
    Kind.TEXT: quoted,
    Kind.CHOICE: _choice,
    Kind.UUID: _uuid,
    Kind.UUIDS: _list,
    Kind.TEXTS: _list,
    Kind.TIMESTAMP: datetime.isoformat,
}
"""Of values that are not null; of other kinds Python's own text is the database's."""
