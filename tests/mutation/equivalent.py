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
        "adapters/memory/clock.py",
        "START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)",
        "11  →  12",
        "a test may begin at any time, and names START where it says when",
    ),
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
        "adapters/postgres/entities/writing/removal_statements.py",
        'refers.append(table.c.tenant_id == parameter(f"tenant_{number}", sa.Uuid()))',
        "refers.append(table.c.tenant_id == parameter(f'tenant_{number}', sa.Uuid()))  →  left out",
        "the foreign key has the tenant too; the condition is for the index, which begins with the tenant",
    ),
    Equivalent(
        "application/ports/replicas.py",
        "BEGINNING = Position(0, 0)",
        "0  →  1",
        "every position of a server is later: timelines begin with 1, and the first write stands far behind 1",
    ),
    Equivalent(
        "domain/entities/query/query.py",
        "page_size: int = 20",
        "20  →  21",
        "whoever reads a page names its size, and an export has no pages",
    ),
    Equivalent(
        "domain/entities/query/read_query.py",
        'text = "9" * 17',
        "17  →  18",
        "any number of so many digits is past every limit",
    ),
    Equivalent(
        "domain/forms.py",
        "@lru_cache(maxsize=1024)  # msgspec evaluates every annotation of the struct anew",
        "1024  →  1025",
        "how many forms are remembered decides about time alone",
    ),
)

_REASONS = {(known.path, known.source, known.change): known.reason for known in EQUIVALENT}


def reason_of(path: str, source: str, change: str) -> str | None:
    """Why the change makes no difference; None where it is not known to make none."""
    return _REASONS.get((path, source.strip(), change))
