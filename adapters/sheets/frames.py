"""What a worker and the service say to each other: a letter, a length, a body; an end that was not said is none."""

import struct
from typing import BinaryIO

import msgspec
from msgspec import Struct

from domain.entities.bodies import Sendable
from domain.entities.sheets import ImportOptions, RowError
from domain.errors import BadRequest, Error, FieldError, Forbidden, PayloadTooLarge, ValidationError

HEAD = struct.Struct("<cI")
LARGEST = 256 * 1024 * 1024

READY, ROWS, ERRORS, DONE, REFUSED = b"h", b"r", b"e", b"d", b"x"

_KINDS: dict[str, type[Error]] = {one.code: one for one in (BadRequest, ValidationError, Forbidden, PayloadTooLarge)}


class Entity(Struct, frozen=True):
    """Where a declaration is imported from; ``file`` is a module that is only known by its path."""

    module: str
    name: str
    file: str | None


class ReadJob(Struct, frozen=True, kw_only=True):
    entity: Entity
    options: ImportOptions
    may: Sendable


class WriteJob(Struct, frozen=True, kw_only=True):
    """``kinds`` are the columns' by name of domain.entities.declaration.Kind."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]


class SheetRefusal(Struct, frozen=True):
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
    """Raises EOFError when the other side has gone."""
    letter, length = HEAD.unpack(_exactly(stream, HEAD.size))
    return letter, _exactly(stream, length)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    body = stream.read(length)
    if len(body) != length:
        raise EOFError
    return body
