"""Pictures with a palette show what the browser drew."""

import struct
import zlib

from tests.console.pictures import HEAD, chunk, read_pixels, with_palette


def picture(width: int, rows: list[bytes]) -> bytes:
    """A picture as browsers write it; each row begins with the way in which it was filtered."""
    header = struct.pack(">IIBBBBB", width, len(rows), 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(b"".join(rows))), (b"IEND", b""))
    return HEAD + b"".join(chunk(kind, data) for kind, data in parts)


def test_rows_are_read_whichever_way_they_were_filtered() -> None:
    colours = [(10, 20, 30), (200, 100, 0)]
    plain = bytes([10, 20, 30, 200, 100, 0])
    left = bytes([10, 20, 30, 190, 80, 226])
    # the same row again: nothing differs from above, nor from the nearest of the three neighbours
    rows = [b"\0" + plain, b"\1" + left, b"\2" + bytes(6), b"\4" + bytes(6), b"\3" + bytes([5, 10, 15, 95, 40, 241])]
    assert read_pixels(picture(2, rows)) == (2, 5, colours * 5)


def test_a_palette_keeps_the_frequent_colours_and_the_nearest_of_the_others() -> None:
    pixels = [(n, n, n) for n in range(256) for _ in range(2)] + [(7, 7, 8)]
    small = with_palette(picture(len(pixels), [b"\0" + bytes(part for pixel in pixels for part in pixel)]))
    palette = small[small.index(b"PLTE") + 4 :]
    places = zlib.decompress(small[small.index(b"IDAT") + 4 : -16])[1:]
    assert [tuple(palette[place * 3 : place * 3 + 3]) for place in places] == [*pixels[:-1], (7, 7, 7)]
