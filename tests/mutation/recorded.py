"""A plugin for pytest that records which lines each test reaches and how long the test takes.

``TENANTRY_MUTATION_RECORD`` names the file that is written, in JSON: ``{"seconds": {test: s}, "lines": {file: {line:
[test, …]}}}``, where a test is its number in the list ``"tests"``. Tests that fail are left out.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests.mutation.memories import Memories

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("domain", "application", "adapters/postgres/identity", "adapters/postgres/entities", "adapters/memory")

CASES = 1
"""Cases of a test function on one adapter that are recorded: they stand for the others, which are run after them."""


class Recorder:
    """Measures the lines of each test by coverage, whose context is the test."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self._memories: Memories | None = None
        self._coverage = coverage.Coverage(
            data_file=str(file.with_suffix(".data")), config_file=False, source=[str(ROOT / name) for name in FOLDERS]
        )
        self._coverage.erase()
        self._coverage.start()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for group in _groups(items) for item in group[:CASES]]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        self._memories = self._memories or Memories(FOLDERS)
        self._memories.forget()
        self._coverage.switch_context(item.nodeid)
        started = time.monotonic()
        try:
            return (yield)
        finally:
            self._seconds[item.nodeid] = round(time.monotonic() - started, 4)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        data = self._coverage.get_data()
        seconds = {test: took for test, took in self._seconds.items() if test not in self._failed}
        tests = {test: number for number, test in enumerate(seconds)}
        lines = {
            str(Path(file).relative_to(ROOT)): {
                str(line): [tests[test] for test in reaching if test in tests]
                for line, reaching in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        self._file.write_text(json.dumps({"tests": list(tests), "seconds": seconds, "lines": lines}))


def _groups(items: list[pytest.Item]) -> Iterator[list[pytest.Item]]:
    """Cases of one test function on one adapter."""
    found: dict[tuple[str, bool], list[pytest.Item]] = {}
    for item in items:
        name, _, case = item.nodeid.partition("[")
        found.setdefault((name, "postgres" in case), []).append(item)
    yield from found.values()


def pytest_configure(config: pytest.Config) -> None:
    if file := os.environ.get("TENANTRY_MUTATION_RECORD"):
        config.pluginmanager.register(Recorder(Path(file)), "recorder")
