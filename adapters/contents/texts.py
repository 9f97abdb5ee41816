"""Text files: UTF-8 without NUL, and JSON."""

import codecs
from typing import BinaryIO

import msgspec

LARGEST_JSON = 5 * 1024 * 1024
_PIECE = 256 * 1024


def is_text(file: BinaryIO) -> bool:
    """Return whether the file is valid UTF-8 without NUL, read in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    file.seek(0)
    try:
        while piece := file.read(_PIECE):
            if b"\0" in piece:
                return False
            decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def is_json(file: BinaryIO) -> bool:
    """Return whether a text file of at most ``LARGEST_JSON`` bytes is one JSON value."""
    file.seek(0)
    text = file.read(LARGEST_JSON + 1)
    if len(text) > LARGEST_JSON:
        return False
    try:
        # Raw creates no objects: five million empty lists would need 300 MB.
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
