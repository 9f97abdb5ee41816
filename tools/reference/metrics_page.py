"""Every metric of /metrics with its type, labels and meaning."""

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client import ProcessCollector

from adapters.prometheus.gauges import TOGETHER
from tools.reference.markdown import code, codes, sections, table
from tools.reference.sources import calls, text_of

INTRODUCTION = """\
`GET /metrics` answers in the text format of Prometheus: to requests of the same machine, or to whoever sends
[`METRICS_TOKEN`](../settings.md#all-settings) as a bearer. In that text the name of a counter ends in `_total`, and a
histogram has `_bucket`, `_sum` and `_count`. The label `endpoint` is the name of an operation:
[Endpoints](endpoints.md) lists them. [Monitoring](../monitoring.md) says what to do with them."""

KINDS = ("Counter", "Gauge", "Histogram", "Summary")
WORDS: Mapping[object, str] = {min: "the least", max: "the greatest"}
"""What is told of the figures of several processes, by the function that chooses it."""
FAMILIES = tuple(f"{kind}MetricFamily" for kind in KINDS)


class Metric(NamedTuple):
    name: str
    kind: str
    labels: tuple[str, ...]
    meaning: str


def page() -> str:
    rows = ((code(metric.name), metric.kind, codes(metric.labels), metric.meaning) for metric in metrics())
    return sections("# Metrics", INTRODUCTION, table(("Metric", "Type", "Labels", "Meaning"), rows))


def metrics() -> list[Metric]:
    """Metrics that the code makes with a name of its own: ``Counter("tenantry_…", "Meaning.", ["label"])``."""
    found = {metric.name: metric for metric in (*_found(), *_of_processes())}
    return [found[name] for name in sorted(found)]


def _found() -> Iterator[Metric]:
    for _, call in calls("adapters", "entrypoints"):
        kind = ast.unparse(call.func).rpartition(".")[2]
        name = text_of(call.args[0]) if call.args else None
        if kind in (*KINDS, *FAMILIES) and name is not None and name.startswith("tenantry_"):
            meaning = text_of(call.args[1]) if len(call.args) > 1 else None
            kind = kind.removesuffix("MetricFamily").lower()
            yield Metric(name.removesuffix("_total"), kind, tuple(_labels(call)), meaning or "")


def _of_processes() -> Iterator[Metric]:
    for family in ProcessCollector(registry=None).collect():
        told = "the sum" if family.name not in TOGETHER else WORDS[TOGETHER[family.name]]
        yield Metric(
            family.name, family.type, (), f"{family.documentation.removesuffix('.')}: {told} of all processes."
        )


def _labels(call: ast.Call) -> Iterator[str]:
    given = [keyword.value for keyword in call.keywords if keyword.arg in ("labels", "labelnames")]
    for value in [*call.args[2:], *given]:
        if isinstance(value, ast.List | ast.Tuple):
            yield from (text for part in value.elts if (text := text_of(part)) is not None)
