"""Bars against a goal as SVG, drawn without a dependency."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

WIDTH = 720
ROW = 30
LEFT = 230
BAR = 400
COLOURS = ("#2c6e9b", "#c2572b")


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


def _text(x: float, y: float, content: str, *, size: int = 13, anchor: str = "start") -> str:
    style = f'font-size="{size}" text-anchor="{anchor}" fill="#222"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(content)}</text>'


def _document(height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" font-family="sans-serif">'
    background = f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>'
    return "\n".join([head, background, *parts, "</svg>", ""])
