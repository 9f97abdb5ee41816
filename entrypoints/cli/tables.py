"""Lists that commands print: a table for people, JSON for programs."""

from collections.abc import Sequence

import msgspec


def listed(items: Sequence[object], columns: Sequence[str], *, as_json: bool) -> str:
    """The items as text; ``columns`` are the wire names of the fields that the table shows, JSON has all fields."""
    # JSON has everything: a script should not depend on what fits a terminal
    if as_json:
        return msgspec.json.format(msgspec.json.encode(items), indent=2).decode()
    records = [msgspec.to_builtins(item) for item in items]
    lines = [list(columns), *([_cell(record.get(column)) for column in columns] for record in records)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(columns))]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    # a terminal would obey control characters in somebody's name
    return "".join(letter if letter.isprintable() else "�" for letter in str(value))
