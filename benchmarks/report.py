"""Writes the results into ``docs/performance.md``, and their plot."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import svg, table
from benchmarks.growth import Step
from benchmarks.measures import Row
from benchmarks.operations import Operation
from benchmarks.runner import Plan, Results
from benchmarks.sections import with_section

INTRODUCTION = """`make bench` measures the service against a *baseline*: Litestar, asyncpg and msgspec by hand for one
table, with a token check and a tenant filter, and no limits, revocation, registry or generality (`benchmarks/`). Both
servers hold the same rows under the same indexes, run as one process each on the same core, and are asked the same
requests in turn. The service has everything on; limits are counted and shown, but refuse nothing
(`TENANTRY_RATE_LIMITS=count`); products have neither a history nor reviews."""

READING = """The ratio is the service's rate by the baseline's, the median over the rounds of each round's own ratio.
Figures with an arrow are the baseline's and then the service's: milliseconds for the median and the slowest hundredth
of requests, CPU seconds of the server and of PostgreSQL per 1,000 requests, and the most memory that the server's
process had until then. A ✗ marks what misses its goal; a 99th percentile may be at most 2.5 times the baseline's.
[Further tables](#more-connections-rows-tenants-and-entities) have the figures for more connections, rows, tenants and
entities."""

GROWTH = """## More connections, rows, tenants and entities

Written by `make bench ARGS=--growth`."""


def write(plan: Plan, results: Results, machine: Sequence[str], docs: Path) -> Path:
    title = "The service's rate, as a part of the baseline's; the marks are the goals"
    (docs / "performance" / "ratios.svg").write_text(svg.bars(title, _bars(plan, results)))
    report = docs / "performance.md"
    content = "\n".join(_lines(plan, results, machine))
    text = with_section(report.read_text("utf-8"), "results", content)
    if results.steps:
        text = with_section(text, "growth", "\n".join(_growth(plan, results, machine)))
    report.write_text(text, "utf-8")
    return report


def _bars(plan: Plan, results: Results) -> list[tuple[str, float, float | None]]:
    return [(row.title, row.ratio, row.goal) for row in results.rows(_main(plan))]


def _main(plan: Plan) -> list[Operation]:
    return [operation for operation in plan.operations if operation.goal is not None]


def _lines(plan: Plan, results: Results, machine: Sequence[str]) -> Iterator[str]:
    size, main = plan.size, results.rows(_main(plan))
    yield INTRODUCTION
    yield f"\n{size.rows:,} products over {size.tenants:,} tenants, each with {size.categories_each:,} categories;"
    yield f"medians of {plan.rounds} rounds of {plan.timing.seconds:g} seconds.\n"
    yield from _machine(machine)
    yield f"\n## Against the baseline\n\n{table.ratios(main)}\n"
    yield f"![Ratios](performance/ratios.svg)\n\n{READING}"
    yield from _missed(main)
    yield f"\n## Further operations\n\n{table.ratios(results.rows(_further(plan)))}"
    yield f"\nWithout a counterpart:\n\n{table.alone(results.alone_rows(plan.operations))}"
    yield "\n## Start and memory\n"
    yield from (
        f"- {footprint.name}: ready in {footprint.ready_in:.2f} s, {footprint.idle:.0f} MiB"
        for footprint in results.footprints
    )


def _growth(plan: Plan, results: Results, machine: Sequence[str]) -> Iterator[str]:
    yield f"{GROWTH}\n\nOne run of {plan.timing.seconds:g} seconds each.\n"
    yield from _machine(machine)
    for what, steps in results.steps.items():
        yield f"\n### More {what}\n\n{_steps(what, steps)}"


def _machine(machine: Sequence[str]) -> Iterator[str]:
    yield "Measured on:\n"
    yield from (f"- {line}" for line in machine)


def _further(plan: Plan) -> list[Operation]:
    return [operation for operation in plan.operations if operation.goal is None]


def _missed(rows: Sequence[Row]) -> Iterator[str]:
    missed = [row for row in rows if not row.reached]
    if missed:
        yield "\nMissed:\n"
        yield from (
            f"- {row.title}: {row.ratio:.2f} ({row.lowest:.2f} to {row.highest:.2f}) of {row.goal or 0:.2f}, "
            f"99th percentile {row.p99_ratio:.1f} times the baseline's"
            for row in missed
        )


def _steps(label: str, steps: Sequence[Step]) -> str:
    head = ("operation", label, "baseline /s", "service /s", "ratio", "p50 ms", "CPU s/1,000", "database CPU")
    return table.markdown(head, [_step(step) for step in steps])


def _step(step: Step) -> list[str]:
    service = step.service
    return [
        step.operation,
        f"{step.amount:,}",
        table.rate(step.baseline.rate),
        table.rate(service.rate),
        f"{service.rate / step.baseline.rate:.2f}",
        table.number(service.p50),
        table.number(service.cpu),
        table.number(service.database_cpu),
    ]
