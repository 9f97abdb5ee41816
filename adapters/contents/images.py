"""Width and height of images, read from their headers without decoding."""

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO

Pixels = tuple[int, int]
_MOST_SEGMENTS = 1_000
"""Maximum segments before the frame header of a JPEG. Photos have some tens."""
# Start of frame, without the codes of other tables: DHT (C4), JPG (C8) and DAC (CC).
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})


def _png(file: BinaryIO) -> Pixels | None:
    head = file.read(33)
    if len(head) < 33 or head[:16] != b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR":
        return None
    width, height, checksum = struct.unpack(">II5xI", head[16:33])
    return (width, height) if checksum == zlib.crc32(head[12:29]) else None


def _gif(file: BinaryIO) -> Pixels | None:
    head = file.read(13)
    if len(head) < 13 or head[:6] not in (b"GIF87a", b"GIF89a"):
        return None
    width, height = struct.unpack("<HH", head[6:10])
    return width, height


def _webp(file: BinaryIO) -> Pixels | None:
    head = file.read(30)
    if len(head) < 30 or head[:4] != b"RIFF" or head[8:12] != b"WEBP":
        return None
    match head[12:16]:
        case b"VP8X":
            return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
        case b"VP8L" if head[20] == 0x2F:
            bits = int.from_bytes(head[21:25], "little")
            return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
        case b"VP8 " if head[23:26] == b"\x9d\x01\x2a":
            width, height = struct.unpack("<HH", head[26:30])
            return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg(file: BinaryIO) -> Pixels | None:
    if file.read(2) != b"\xff\xd8":
        return None
    for _ in range(_MOST_SEGMENTS):
        code = _marker(file)
        if code in _WITHOUT_LENGTH:
            continue
        size = int.from_bytes(file.read(2), "big")
        if code is None or code == 0xDA or size < 2:  # the scan begins without a frame header
            return None
        if code in _FRAMES:
            head = file.read(5)
            return (int.from_bytes(head[3:5], "big"), int.from_bytes(head[1:3], "big")) if len(head) == 5 else None
        file.seek(size - 2, 1)
    return None


def _marker(file: BinaryIO) -> int | None:
    """Return the code of the next marker, which any number of fill bytes may precede up to ``_MOST_SEGMENTS``."""
    if file.read(1) != b"\xff":
        return None
    for _ in range(_MOST_SEGMENTS):
        code = file.read(1)
        if code != b"\xff":
            return code[0] if code and code[0] else None
    return None


HEADERS: Mapping[str, Callable[[BinaryIO], Pixels | None]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
}
"""Readers of headers by type. A reader returns None for content of another type, and for a damaged header."""


def pixels_of(file: BinaryIO, media_type: str) -> Pixels | None:
    """Return the width and height of an image, None if the file is not an image of this type."""
    file.seek(0)
    found = HEADERS[media_type](file)
    return found if found is not None and all(found) else None
