"""Pictures of screens as PNG files with a palette: a third of the size that a browser writes."""

import struct
import zlib
from collections import Counter

HEAD = b"\x89PNG\r\n\x1a\n"
COLOURS = 256
Colour = tuple[int, ...]


def with_palette(png: bytes) -> bytes:
    """The picture in its 256 most frequent colours; each other pixel has the nearest of them."""
    width, height, pixels = read_pixels(png)
    counted = Counter(pixels)
    palette = [colour for colour, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:COLOURS]]
    places = {colour: place for place, colour in enumerate(palette)}
    for colour in counted.keys() - places.keys():
        places[colour] = min(range(len(palette)), key=lambda place: distance(palette[place], colour))
    found = bytes(places[pixel] for pixel in pixels)
    rows = (b"\0" + found[start : start + width] for start in range(0, len(found), width))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"PLTE", bytes(part for colour in palette for part in colour)))
    return HEAD + b"".join(
        chunk(kind, data) for kind, data in (*chunks, (b"IDAT", zlib.compress(b"".join(rows), 9)), (b"IEND", b""))
    )


def distance(colour: Colour, other: Colour) -> int:
    return sum((a - b) ** 2 for a, b in zip(colour, other, strict=True))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def read_pixels(png: bytes) -> tuple[int, int, list[Colour]]:
    """Width, height and colours of a picture as browsers write it: eight bits for each of red, green and blue."""
    at, packed, width, height = len(HEAD), b"", 0, 0
    while at < len(png):
        size, kind = struct.unpack_from(">I4s", png, at)
        data = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour, *_ = struct.unpack(">IIBBBBB", data)
            assert (depth, colour) == (8, 2), "this picture is not of red, green and blue"
        packed += data if kind == b"IDAT" else b""
        at += 12 + size
    plain, step = zlib.decompress(packed), width * 3 + 1
    rows = [bytes(width * 3)]
    for start in range(0, len(plain), step):
        rows.append(unfiltered(plain[start], plain[start + 1 : start + step], rows[-1]))
    parts = b"".join(rows[1:])
    return width, height, list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))


def unfiltered(way: int, row: bytes, above: bytes) -> bytes:
    """A row of bytes as it was before its differences from the left and from above were taken."""
    found = bytearray(row)
    for place, value in enumerate(row):
        left = found[place - 3] if place >= 3 else 0
        corner = above[place - 3] if place >= 3 else 0
        up = above[place]
        nearest = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
        found[place] = (value + (0, left, up, (left + up) // 2, nearest)[way]) & 255
    return bytes(found)
