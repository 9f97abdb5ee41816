"""Protocol between the service and a child process: frames of a letter, a length and a body.

A stream without a final frame DONE was cut off.
"""

import struct
from collections.abc import Sequence
from typing import BinaryIO, Self

import msgspec
from msgspec import Struct

from domain.entities.bodies import FieldAccess
from domain.entities.files.options import ImportOptions
from domain.entities.kinds import Kind
from domain.entities.sheets import NO_RELATED_COLUMNS, Column, RelatedColumns, RowError
from domain.errors import BadRequest, Error, FieldError, Forbidden, PayloadTooLarge, ValidationError

HEAD = struct.Struct("<cI")
LARGEST = 256 * 1024 * 1024

LOADED, READY, ROWS, ERRORS, DONE, REFUSED = b"l", b"h", b"r", b"e", b"d", b"x"
"""Frame types. LOADED comes before the file is read: a failure before it is the service's, not the file's."""

_REFUSALS = (BadRequest, ValidationError, Forbidden, PayloadTooLarge)
_KINDS: dict[str, type[Error]] = {kind.code: kind for kind in _REFUSALS}


class Entity(Struct, frozen=True):
    """Import path of an entity's declaration; ``file`` is set for a module given by its path."""

    module: str
    name: str
    file: str | None


class ReadJob(Struct, frozen=True, kw_only=True):
    """Job to read a file; ``may`` says which fields the caller may write; ``related`` columns are ignored."""

    entity: Entity
    options: ImportOptions
    may: FieldAccess
    related: RelatedColumns = NO_RELATED_COLUMNS


class WriteJob(Struct, frozen=True, kw_only=True):
    """Job to write a file; ``kinds`` has one kind per column.

    ``digits`` has precision and scale of each decimal by column position; xlsx files do not need it.
    """

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    digits: dict[int, tuple[int, int]] = {}

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Self:
        decimals = ((place, column.field.money) for place, column in enumerate(columns))
        return cls(
            names=tuple(column.name for column in columns),
            kinds=tuple(column.field.kind for column in columns),
            digits={place: (money.precision, money.scale) for place, money in decimals if money is not None},
        )


class SheetRefusal(Struct, frozen=True):
    """Domain error sent over the process boundary."""

    code: str
    message: str
    fields: tuple[FieldError, ...] = ()

    def raised(self) -> Error:
        return _KINDS[self.code](self.message, self.fields)


class Errors(Struct, frozen=True):
    failed: int
    errors: tuple[RowError, ...]


def refusal_of(error: Error) -> bytes:
    return msgspec.json.encode(SheetRefusal(error.code, error.message, error.fields))


def send(stream: BinaryIO, letter: bytes, body: bytes = b"") -> None:
    stream.write(HEAD.pack(letter, len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[bytes, bytes]:
    """Read a frame. Raises EOFError when the other process has ended."""
    letter, length = HEAD.unpack(_exactly(stream, HEAD.size))
    return letter, _exactly(stream, length)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    body = stream.read(length)
    if len(body) != length:
        raise EOFError
    return body
