"""Alert rules and the dashboard in a real Prometheus that scrapes a running service of two processes.

``make monitoring`` runs it. It is not collected with the other tests: it needs `prometheus` and `promtool`.
"""

import json
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NewDatabase
from tests.deploy.test_monitoring import RULES, RULES_TEST, queries, rules
from tests.entrypoints.conftest import serving, settings_of
from tests.entrypoints.processes import PASSWORD, Served, free_port

TOKEN = "a-token-for-the-metrics"
CONFIGURATION = """
global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [%s]
scrape_configs:
  - job_name: tenantry
    authorization: { credentials: %s }
    static_configs: [{ targets: ["%s"] }]
"""
WITHOUT_EVENTS = {"One-time codes A", "Second factors A", "TenantryErrors"}
"""Queries of counters whose labels appear with their first event, which does not happen here."""


@pytest.fixture(scope="module")
async def service(
    new_database: NewDatabase, servers: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Served]:
    settings = settings_of(await new_database(), servers[1])
    with serving(tmp_path_factory.mktemp("served")) as serve:
        yield serve(**settings, WORKERS="2", METRICS_TOKEN=TOKEN)


@pytest.fixture(scope="module")
def prometheus(service: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("prometheus"), free_port()
    target = service.url.removeprefix("http://")
    (folder / "prometheus.yml").write_text(CONFIGURATION % (RULES, json.dumps(TOKEN), target))
    process = subprocess.Popen(
        [
            "prometheus",
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
    )
    try:
        url = f"http://127.0.0.1:{port}"
        make_traffic(service)
        await_samples(url)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def make_traffic(service: Served) -> None:
    token = service.log_in(PASSWORD)
    for _ in range(20):
        assert service.call("GET", "/api/auth/me", token=token).status == 200
        assert service.call("GET", "/api/nothing").status == 404


def await_samples(url: str) -> None:
    """Until there are enough samples for rates."""
    deadline = time.monotonic() + 40
    while not (found := asked(url, 'count_over_time(up{job="tenantry"}[1m])')) or float(found[0]["value"][1]) < 6:
        assert time.monotonic() < deadline
        time.sleep(0.5)


def asked(url: str, query: str) -> list[dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"{url}/api/v1/query?{urllib.parse.urlencode({'query': query})}") as answer:
            body = json.load(answer)
    except urllib.error.HTTPError as refusal:
        pytest.fail(refusal.read().decode())
    except urllib.error.URLError:  # it is just starting
        return []
    assert body["status"] == "success", body
    found: list[dict[str, Any]] = body["data"]["result"]
    return found


def test_the_rules_are_tested_by_promtool() -> None:
    subprocess.run(["promtool", "test", "rules", RULES_TEST], check=True, timeout=60)


def test_the_scrape_succeeds_with_the_token(prometheus: str) -> None:
    assert [found["value"][1] for found in asked(prometheus, 'up{job="tenantry"}')] == ["1"]
    assert [found["value"][1] for found in asked(prometheus, "tenantry_workers")] == ["2"]


@pytest.mark.parametrize("name", queries())
def test_a_query_of_the_rules_and_the_dashboard_finds_something(prometheus: str, name: str) -> None:
    # an alert compares with a bound, which a healthy service does not pass: what is compared has to be there
    query = re.split(r"\s(?:>|==)\s", queries()[name])[0]
    found = asked(prometheus, query)
    asked(prometheus, queries()[name])
    assert found or name in WITHOUT_EVENTS, query


def test_every_rule_is_healthy_and_no_alert_fires_for_a_healthy_service(prometheus: str) -> None:
    with urllib.request.urlopen(f"{prometheus}/api/v1/rules") as answer:
        (group,) = json.load(answer)["data"]["groups"]
    assert [(rule["name"], rule["health"]) for rule in group["rules"]] == [(rule["alert"], "ok") for rule in rules()]
    assert [rule["name"] for rule in group["rules"] if rule["state"] == "firing"] == []


def test_the_shipped_configuration_is_valid(tmp_path: Path) -> None:
    given = (RULES.parent / "prometheus.yml").read_text()
    subprocess.run(["promtool", "check", "config", "--syntax-only", "/dev/stdin"], input=given.encode(), check=True)
