"""Requests for a part of a response: the header ``Range``."""

import re
from typing import NamedTuple

# More digits than any size has; a longer number would cost time to read.
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})", re.IGNORECASE)


class ByteRange(NamedTuple):
    start: int
    length: int

    def header(self, size: int) -> str:
        """Return ``Content-Range`` of the response."""
        return f"bytes {self.start}-{self.start + self.length - 1}/{size}"


class UnsatisfiableRange(Exception):
    """The range begins after the end of the content."""


def read_range(given: str | None, size: int) -> ByteRange | None:
    """Return the requested part of ``size`` bytes; None for the whole: several ranges or an invalid header.

    Raises UnsatisfiableRange.
    """
    found = None if given is None else _RANGE.fullmatch(given.strip())
    if found is None or not (found[1] or found[2]):
        return None
    if not found[1]:
        length = min(int(found[2]), size)
        if not length:
            raise UnsatisfiableRange
        return ByteRange(size - length, length)
    start = int(found[1])
    end = min(int(found[2]), size - 1) if found[2] else size - 1
    if found[2] and int(found[2]) < start:
        return None
    if start >= size:
        raise UnsatisfiableRange
    return ByteRange(start, end - start + 1)
