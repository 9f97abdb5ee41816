"""Queries of the alert rules and the dashboard."""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.entrypoints.processes import ROOT

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
