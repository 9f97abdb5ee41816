"""The table of ratios in Markdown, readable in a terminal too."""

from collections.abc import Iterator, Sequence

from benchmarks.measures import SLOWEST_P99, Reading, Row

HEAD = (
    "operation",
    "baseline /s",
    "service /s",
    "ratio",
    "goal",
    "p50 ms",
    "p99 ms",
    "p99 ratio",
    "CPU s/1,000",
    "database CPU",
    "MiB",
)
ALONE = ("operation", "service /s", "p50 ms", "p99 ms", "CPU s/1,000", "database CPU", "MiB")


def ratios(rows: Sequence[Row]) -> str:
    return markdown(HEAD, [list(_cells(row)) for row in rows])


def alone(readings: Sequence[tuple[str, Reading]]) -> str:
    """Table of the operations that the baseline does not have."""
    return markdown(ALONE, [[title, *_figures(reading)] for title, reading in readings])


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(cells, widths) for cells in (head, rule, *lines))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "| " + " | ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]) + " |"


def _cells(row: Row) -> Iterator[str]:
    baseline, service = row.baseline, row.service
    yield row.title
    yield rate(baseline.rate)
    yield rate(service.rate)
    yield f"{row.ratio:.2f}" + (" ✗" if row.goal is not None and row.ratio < row.goal else "")
    yield "" if row.goal is None else f"{row.goal:.2f}"
    yield f"{number(baseline.p50)} → {number(service.p50)}"
    yield f"{number(baseline.p99)} → {number(service.p99)}"
    yield f"{row.p99_ratio:.1f}" + (" ✗" if row.p99_ratio > SLOWEST_P99 else "")
    yield f"{number(baseline.cpu)} → {number(service.cpu)}"
    yield f"{number(baseline.database_cpu)} → {number(service.database_cpu)}"
    yield f"{baseline.memory:.0f} → {service.memory:.0f}"


def _figures(reading: Reading) -> list[str]:
    return [
        rate(reading.rate),
        number(reading.p50),
        number(reading.p99),
        number(reading.cpu),
        number(reading.database_cpu),
        f"{reading.memory:.0f}",
    ]


def rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def number(value: float) -> str:
    """A number with three significant digits."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"
