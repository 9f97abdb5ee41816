"""Plots as SVG, drawn without a dependency: bars against a goal, and lines over logarithmic axes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH = 720
ROW = 30
LEFT = 230
BAR = 400
COLOURS = ("#2c6e9b", "#c2572b", "#4f8a3c", "#7a4f9b", "#a58a1f")

Point = tuple[float, float]


def bars(title: str, values: Sequence[tuple[str, float, float | None]]) -> str:
    """Bars with a label, a value and the position of its goal; a value below its goal gets another colour."""
    longest = max(1.0, *(value for _, value, _ in values), *(goal or 0 for _, _, goal in values))
    height = 50 + ROW * len(values)
    parts = [_text(16, 26, title, size=16)]
    for number, (label, value, goal) in enumerate(values):
        parts += _bar(46 + ROW * number, label, (value, goal), longest)
    return _document(height, parts)


def _bar(top: float, label: str, value_and_goal: tuple[float, float | None], longest: float) -> Iterator[str]:
    value, goal = value_and_goal
    colour = COLOURS[1] if goal is not None and value < goal else COLOURS[0]
    yield _text(LEFT - 10, top + 15, label, anchor="end")
    yield f'<rect x="{LEFT}" y="{top}" width="{BAR * value / longest:.1f}" height="20" fill="{colour}"/>'
    yield _text(LEFT + BAR * value / longest + 6, top + 15, f"{value:.2f}")
    if goal is not None:
        at = LEFT + BAR * goal / longest
        yield f'<path d="M{at:.1f} {top - 3}v26" stroke="#222" stroke-width="2"/>'


def lines(title: str, x_label: str, y_label: str, series: Mapping[str, Sequence[Point]]) -> str:
    """Lines over two logarithmic axes: proportional growth has the slope 1."""
    plot = _Plot([point for points in series.values() for point in points])
    parts = [_text(16, 26, title, size=16), *plot.axes(x_label, y_label)]
    for number, (name, points) in enumerate(series.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts += plot.curve(points, colour)
        parts.append(_text(WIDTH - 150, 60 + 20 * number, name, fill=colour))
    return _document(360, parts)


class _Plot:
    """Positions of values in a box of 460 by 240."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._x = _Axis([x for x, _ in points], 80, 540)
        self._y = _Axis([y for _, y in points], 300, 60)

    def axes(self, x_label: str, y_label: str) -> Iterator[str]:
        yield '<path d="M80 60V300H540" fill="none" stroke="#222"/>'
        for value in self._x.marks():
            yield _text(self._x.at(value), 318, _short(value), anchor="middle")
        for value in self._y.marks():
            yield _text(72, self._y.at(value) + 4, _short(value), anchor="end")
            yield f'<path d="M80 {self._y.at(value):.1f}H540" stroke="#ddd"/>'
        yield _text(310, 344, x_label, anchor="middle")
        yield _text(80, 50, y_label)

    def curve(self, points: Sequence[Point], colour: str) -> Iterator[str]:
        placed = [(self._x.at(x), self._y.at(y)) for x, y in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in placed)
        yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>' for x, y in placed)


class _Axis:
    """Powers of ten around the values."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self._lowest = math.floor(math.log10(min(values)))
        self._highest = max(math.ceil(math.log10(max(values))), self._lowest + 1)
        self._start, self._end = start, end

    def at(self, value: float) -> float:
        share = (math.log10(value) - self._lowest) / (self._highest - self._lowest)
        return self._start + share * (self._end - self._start)

    def marks(self) -> list[float]:
        return [10.0**power for power in range(self._lowest, self._highest + 1)]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _text(x: float, y: float, content: str, *, size: int = 13, anchor: str = "start", fill: str = "#222") -> str:
    style = f'font-size="{size}" text-anchor="{anchor}" fill="{fill}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(content)}</text>'


def _document(height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif">'
    background = f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>'
    return "\n".join([head, background, *parts, "</svg>", ""])
