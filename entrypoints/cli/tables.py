"""Lists that commands print: a table for people, and all fields as JSON."""

from collections.abc import Sequence

import msgspec

from entrypoints.terminal.answers import Answer


def listed(items: Sequence[object], columns: Sequence[str]) -> Answer:
    """Return a table of the items; ``columns`` are the JSON names of its fields. JSON has all fields."""
    records = [msgspec.to_builtins(item) for item in items]
    lines = [list(columns), *([_cell(record.get(column)) for column in columns] for record in records)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(columns))]
    return Answer("\n".join(_line(line, widths) for line in lines), list(items))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    # Security: a terminal would obey control characters in a name.
    return "".join(letter if letter.isprintable() else "�" for letter in str(value))
