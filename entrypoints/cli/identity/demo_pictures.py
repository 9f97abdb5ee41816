"""Pictures of the demo's products: shapes in flat colours, as PNG files with a palette."""

import colorsys
import math
import struct
import zlib

SIDE = 360
"""Width and height in pixels."""
_PAPER, _SHADE, _BODY, _DARK, _LABEL = range(5)
_CENTRE, _GROUND = SIDE // 2, 300


class Drawing:
    """Rows of pixels, each the number of a colour."""

    def __init__(self) -> None:
        self.rows = [bytearray([_PAPER]) * SIDE for _ in range(SIDE)]

    def span(self, y: int, left: float, right: float, colour: int) -> None:
        begin, end = max(0, round(left)), min(SIDE, round(right))
        if 0 <= y < SIDE and begin < end:
            self.rows[y][begin:end] = bytes([colour]) * (end - begin)

    def box(self, left: int, top: int, right: int, bottom: int, colour: int) -> None:
        for y in range(top, bottom):
            self.span(y, left, right, colour)

    def oval(self, x: int, y: int, wide: int, high: int, colour: int) -> None:
        """Fill an ellipse around a point, with half its width and height."""
        for row in range(y - high, y + high + 1):
            half = wide * math.sqrt(max(0.0, 1 - ((row - y) / high) ** 2))
            self.span(row, x - half, x + half, colour)

    def wedge(self, top: int, bottom: int, narrow: int, wide: int, colour: int) -> None:
        """Fill a trapezium around the centre, with half its width at the top and at the bottom."""
        for y in range(top, bottom):
            half = narrow + (wide - narrow) * (y - top) / (bottom - top)
            self.span(y, _CENTRE - half, _CENTRE + half, colour)

    def png(self, hue: float) -> bytes:
        """Return the file, with colours of one hue from 0 to 1."""
        shades = ((0.12, 0.97), (0.25, 0.86), (0.55, 0.72), (0.65, 0.45), (0.08, 1.0))
        palette = bytes(round(255 * part) for shade in shades for part in colorsys.hsv_to_rgb(hue, *shade))
        head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 3, 0, 0, 0)
        pixels = zlib.compress(b"".join(b"\0" + row for row in self.rows), 9)
        chunks = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def picture(shape: int, hue: float) -> bytes:
    """Return a picture with one of five shapes."""
    drawing = Drawing()
    drawing.oval(_CENTRE, _GROUND, 130, 18, _SHADE)
    (_bag, _tin, _cup, _tent, _lamp)[shape % 5](drawing)
    return drawing.png(hue)


def _bag(drawing: Drawing) -> None:
    drawing.wedge(70, 300, 78, 92, _BODY)
    drawing.box(100, 70, 260, 92, _DARK)
    drawing.oval(_CENTRE, 195, 52, 52, _LABEL)


def _tin(drawing: Drawing) -> None:
    drawing.box(95, 105, 265, 290, _BODY)
    drawing.oval(_CENTRE, 290, 85, 16, _BODY)
    drawing.box(95, 160, 265, 245, _LABEL)
    drawing.oval(_CENTRE, 105, 85, 20, _DARK)


def _cup(drawing: Drawing) -> None:
    drawing.oval(262, 195, 52, 52, _DARK)
    drawing.oval(262, 195, 30, 30, _PAPER)
    drawing.wedge(110, 300, 98, 66, _BODY)
    drawing.oval(_CENTRE, 110, 98, 20, _DARK)


def _tent(drawing: Drawing) -> None:
    drawing.wedge(75, 300, 2, 140, _BODY)
    drawing.wedge(150, 300, 1, 55, _DARK)


def _lamp(drawing: Drawing) -> None:
    drawing.box(172, 170, 188, 290, _DARK)
    drawing.oval(_CENTRE, 290, 70, 14, _DARK)
    drawing.wedge(75, 190, 48, 105, _BODY)
    drawing.oval(_CENTRE, 190, 105, 14, _LABEL)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
