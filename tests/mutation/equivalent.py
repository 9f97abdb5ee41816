"""Mistakes that make no difference to anybody, each with its reason: `make mutate` leaves them out of its count."""

from typing import NamedTuple


class Equivalent(NamedTuple):
    """``source`` is the line without its indentation: it stays the same where the lines above change."""

    path: str
    source: str
    change: str
    reason: str


EQUIVALENT: tuple[Equivalent, ...] = (
    Equivalent(
        "adapters/memory/entities/row_json.py",
        "_WIDE = Context(prec=1_000)",
        "1000  →  1001",
        "no declared decimal has more than 1,000 digits",
    ),
    Equivalent(
        "adapters/memory/entities/matching.py",
        "return (sort_value(value) > sort_value(start)) is not is_descending",
        "sort_value(value) > sort_value(start)  →  sort_value(value) >= sort_value(start)",
        "the line before has found that they differ",
    ),
    Equivalent(
        "domain/entities/query/read_query.py",
        'text = "9" * 17',
        "17  →  18",
        "any number of so many digits is past every limit",
    ),
)

_REASONS = {(known.path, known.source, known.change): known.reason for known in EQUIVALENT}


def reason_of(path: str, source: str, change: str) -> str | None:
    """Why the change makes no difference; None where it is not known to make none."""
    return _REASONS.get((path, source.strip(), change))
