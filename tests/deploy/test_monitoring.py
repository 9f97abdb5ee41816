"""Queries of the alert rules and the dashboard.

Alert rules, the dashboard and docs/monitoring.md name metrics that the service has, with their labels.
"""

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tenantry.testing import open_app
from tests.entrypoints.processes import ROOT
from tests.waiting import HUNG_AFTER

RULES = ROOT / "deploy" / "prometheus" / "tenantry.rules.yml"
RULES_TEST = ROOT / "tests" / "deploy" / "tenantry.rules.test.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "tenantry.json"

_METRIC = re.compile(r"\b((?:tenantry|process)_[a-z0-9_]+)(?:\{([^}]*)\})?")
_LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"")


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def queries() -> dict[str, str]:
    """Every query by the name of its alert or the title of its panel, with the dashboard's variables filled in."""
    of_panels = {
        f"{panel['title']} {target['refId']}": target["expr"] for panel in panels() for target in panel["targets"]
    }
    filled = {name: text.replace("$job", "tenantry") for name, text in of_panels.items()}
    return {
        **{rule["alert"]: rule["expr"] for rule in rules()},
        **{name: text.replace("$__rate_interval", "1m") for name, text in filled.items()},
    }


def selected(query: str) -> Iterator[tuple[str, set[str]]]:
    """Metrics that a query names, each with the labels that it selects by."""
    for found in _METRIC.finditer(query):
        yield found[1], set(_LABEL.findall(found[2] or ""))


PAGE = (ROOT / "docs" / "monitoring.md").read_text()
METRICS = (ROOT / "docs" / "reference" / "metrics.md").read_text()
OF_PROMETHEUS = {"job", "instance", "le"}
"""Labels that Prometheus adds, and the one of histograms."""


def described() -> dict[str, tuple[str, set[str]]]:
    """Kind and labels of each metric in the table of the page."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\|", METRICS, re.MULTILINE)
    return {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in rows}


async def test_the_page_describes_every_metric_of_the_service_and_no_other() -> None:
    async with open_app() as app:
        await app.client.get("/api/nothing")
        text = (await app.client.get("/metrics")).text
    told = dict(re.findall(r"^# TYPE (\S+) (\w+)$", text, re.MULTILINE))
    kept = {family(name): kind for name, kind in told.items() if not name.endswith("_created")}
    assert kept == {name: kind for name, (kind, _) in described().items()}
    labels = {
        family(name): set(re.findall(r'(\w+)="', inside))
        for name, inside in re.findall(r"^(\w+)\{(.*)\} \S+$", text, re.MULTILINE)
    }
    for name, (_, expected) in described().items():
        if name in labels:
            assert labels[name] - OF_PROMETHEUS == expected, name


def family(name: str) -> str:
    """``tenantry_answers`` for ``tenantry_answers_total``, as the page names it."""
    return re.sub(r"_(total|bucket|count|sum)$", "", name)


@pytest.mark.parametrize("name", queries())
def test_a_query_names_metrics_and_labels_that_there_are(name: str) -> None:
    table = described()
    for metric, labels in selected(queries()[name]):
        assert family(metric) in table, metric
        assert labels <= table[family(metric)][1] | OF_PROMETHEUS, metric


def test_every_metric_of_the_page_can_be_seen_on_the_dashboard_or_alerts() -> None:
    used = {family(metric) for query in queries().values() for metric, _ in selected(query)}
    elsewhere = {"tenantry_invitations", "process_virtual_memory_bytes", "tenantry_password_hashes_waiting_max"}
    assert described().keys() - used - elsewhere == {"tenantry_build_info"}  # which names the jobs of the dashboard


def test_every_alert_has_a_summary_and_a_remedy_in_the_documents() -> None:
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"]["summary"].endswith(".")
        assert f"| `{rule['alert']}` |" in PAGE
    assert set(re.findall(r"^\| `(Tenantry\w+)` \|", PAGE, re.MULTILINE)) == {rule["alert"] for rule in rules()}


def test_every_alert_is_tested_to_fire() -> None:
    """The tests themselves are run by ``promtool``, below and in ``make monitoring``."""
    _, failing = yaml.safe_load(RULES_TEST.read_text())["tests"]
    (fired,) = failing["promql_expr_test"]
    names = re.findall(r'alertname="(\w+)"', str(fired["exp_samples"]))
    assert Counter(names) == Counter(rule["alert"] for rule in rules())


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed; `make monitoring` asks for it")
@pytest.mark.parametrize("command", [("check", "rules", RULES), ("test", "rules", RULES_TEST)], ids=str)
def test_promtool_accepts_the_rules_and_their_tests(command: tuple[str, ...]) -> None:
    subprocess.run(["promtool", *command], check=True, capture_output=True, timeout=HUNG_AFTER)


def test_panels_do_not_overlap() -> None:
    places = Counter(
        (column, line)
        for panel in panels()
        for column in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for line in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    )
    assert {place for place, count in places.items() if count > 1} == set()
    assert max(column for column, _ in places) < 24
