"""Removal of metadata from images without decoding: location, camera, comments, and everything behind the image.

The colours (ICC profile) and the orientation of photos stay.
"""

import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from domain.errors import UnsupportedMediaType

_ORIENTATION = 0x0112
_SCAN_END = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
"""A marker within compressed data, other than stuffed bytes and restarts."""
_KEPT_PNG = frozenset({b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"sBIT"}) | {
    b"bKGD", b"pHYs", b"acTL", b"fcTL", b"fdAT", b"cICP"
}  # fmt: skip
_KEPT_WEBP = frozenset({b"VP8 ", b"VP8L", b"VP8X", b"ALPH", b"ANIM", b"ANMF", b"ICCP"})


class _Damaged(Exception):
    pass


def strip_metadata(path: Path, media_type: str) -> None:
    """Replace the file by the image without metadata; files of other types stay as they are.

    Raises UnsupportedMediaType if the image is damaged.
    """
    strip = _STRIPPED.get(media_type)
    if strip is None:
        return
    try:
        stripped = b"".join(strip(path.read_bytes()))
    except (_Damaged, struct.error, IndexError):
        raise UnsupportedMediaType(f"The content is not a whole {media_type}.") from None
    path.write_bytes(stripped)


def _jpeg(image: bytes) -> Iterator[bytes]:
    yield image[:2]
    orientation, segments, place = None, [], 2
    for segment in _segments(image):
        code, place = segment[1], place + len(segment)
        if code == 0xE1 and orientation is None and segment[4:10] == b"Exif\0\0":
            orientation = _orientation(segment[10:])
        is_colour = code in (0xE2, 0xEE) and segment[4:].startswith((b"ICC_PROFILE\0", b"Adobe"))
        if code == 0xE0 or is_colour or not _is_metadata(code):
            segments.append(segment)
    if orientation is not None:
        segments.insert(1 if segments[0][1] == 0xE0 else 0, _exif(orientation))
    yield from segments
    yield from _scans(image, place)


def _segments(image: bytes) -> Iterator[bytes]:
    """Yield the segments before the compressed data, the header of the first scan included."""
    place, code = 2, 0
    while code != 0xDA:
        code = image[place + 1]
        if image[place] != 0xFF or code in (0x00, 0x01, *range(0xD0, 0xDA), 0xFF):
            raise _Damaged
        end = place + 2 + int.from_bytes(image[place + 2 : place + 4], "big")
        if not place + 4 <= end <= len(image):
            raise _Damaged
        yield image[place:end]
        place = end


def _is_metadata(code: int) -> bool:
    """Return whether the segment is for applications (APPn), or a comment."""
    return 0xE0 <= code <= 0xEF or code == 0xFE


def _scans(image: bytes, place: int) -> Iterator[bytes]:
    """Yield the compressed data up to the end of the image. A progressive image has several scans."""
    while True:
        found = _SCAN_END.search(image, place)
        if found is None:
            raise _Damaged
        yield image[place : found.start()]
        if found[0] == b"\xff\xd9":
            yield b"\xff\xd9"
            return
        end = found.end() + int.from_bytes(image[found.end() : found.end() + 2], "big")
        if end <= found.end() + 1:
            raise _Damaged
        if not _is_metadata(found[0][1]):
            yield image[found.start() : end]
        place = end


def _orientation(tiff: bytes) -> int | None:
    """Return the orientation of EXIF data, None if it is absent, usual or damaged."""
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(tiff[:4])
    if order is None or len(tiff) < 8:
        return None
    (start,) = struct.unpack_from(f"{order}I", tiff, 4)
    for entry in range(start + 2, min(len(tiff) - 11, start + 2 + 12 * 100), 12):
        tag, kind, count, value = struct.unpack_from(f"{order}HHIH", tiff, entry)
        if (tag, kind, count) == (_ORIENTATION, 3, 1):
            return value if 2 <= value <= 8 else None
    return None


def _exif(orientation: int) -> bytes:
    tiff = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, _ORIENTATION, 3, 1, orientation, 0, 0)
    body = b"Exif\0\0" + tiff
    return b"\xff\xe1" + struct.pack(">H", 2 + len(body)) + body


def _png(image: bytes) -> Iterator[bytes]:
    yield image[:8]
    place = 8
    while True:
        size, name = struct.unpack_from(">I4s", image, place)
        chunk = image[place : place + 12 + size]
        if len(chunk) < 12 + size:
            raise _Damaged
        if name in _KEPT_PNG:
            yield chunk
        if name == b"eXIf" and (turned := _orientation(chunk[8:-4])) is not None:
            body = b"eXIf" + _exif(turned)[10:]
            yield struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
        if name == b"IEND":
            return
        place += 12 + size


def _webp(image: bytes) -> Iterator[bytes]:
    place, kept = 12, []
    while place + 8 <= len(image):
        name, size = struct.unpack_from("<4sI", image, place)
        chunk = image[place : place + 8 + size + size % 2]
        if len(chunk) < 8 + size:
            raise _Damaged
        if name == b"VP8X":
            flags = chunk[8] & ~0x0C  # bit 3: EXIF, bit 2: XMP
            kept.append(chunk[:8] + bytes([flags]) + chunk[9:])
        elif name in _KEPT_WEBP:
            kept.append(chunk)
        place += 8 + size + size % 2
    body = b"WEBP" + b"".join(kept)
    yield b"RIFF" + struct.pack("<I", len(body)) + body


def _gif(image: bytes) -> Iterator[bytes]:
    """Yield the image without comments, texts and applications, other than the repetition of animations."""
    place = 13 + (3 << (image[10] & 7) + 1 if image[10] & 0x80 else 0)
    yield image[:place]
    while image[place] != 0x3B:
        if image[place] == 0x21:
            end = _blocks(image, place + 2)
            is_repetition = image[place + 1] == 0xFF and image[place + 3 : place + 14] == b"NETSCAPE2.0"
            if image[place + 1] == 0xF9 or is_repetition:
                yield image[place:end]
        elif image[place] == 0x2C:
            colours = image[place + 9]
            end = _blocks(image, place + 11 + (3 << (colours & 7) + 1 if colours & 0x80 else 0))
            yield image[place:end]
        else:
            raise _Damaged
        place = end
    yield b";"


def _blocks(image: bytes, place: int) -> int:
    """Return the end of a sequence of blocks."""
    while image[place]:
        place += 1 + image[place]
    return place + 1


_STRIPPED: Mapping[str, Callable[[bytes], Iterator[bytes]]] = {
    "image/jpeg": _jpeg,
    "image/png": _png,
    "image/webp": _webp,
    "image/gif": _gif,
}
