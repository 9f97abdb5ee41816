"""Trials: tests run in forks, each with one mistake, until one of the tests fails."""

import asyncio
import gc
import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from itertools import accumulate, zip_longest
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import pytest

from tests.mutation.changes import Mutant
from tests.mutation.live import Functions
from tests.mutation.memories import Memories
from tests.mutation.recorded import FOLDERS

OURS = ("tests", "domain", "application", "adapters", "entrypoints", "benchmarks", "tenantry", "documentation")
SURVIVED, NOTICED, LATE, NOT_LIVE = "survived", "noticed", "late", "not live"
PATIENCE = 900.0
"""Seconds after which a trial is ended undecided; a test without an end is noticed by its own limit (``LIMIT``)."""

LIMIT = 40
OTHERS = 40.0
"""Seconds for cases that were not recorded; each is taken to last as long as the recorded case of its function."""

OPTIONS = ("-q", "-s", "-p", "no:cacheprovider", "-o", f"timeout={LIMIT}")
"""The libraries are imported before pytest rewrites what it imports."""
IMPORTED_BEFORE = ("-W", "ignore::pytest.PytestAssertRewriteWarning")


class Trial(NamedTuple):
    """Tests that are run with a mistake, or without one."""

    mutant: Mutant | None
    tests: list[str]


class Outcome(NamedTuple):
    """``failed`` is the test that noticed the mistake."""

    said: str
    failed: str | None = None


Run = Callable[[Trial], Outcome]
"""Runs tests in the fork that it is called in."""


@dataclass
class Trials:
    """Several trials at a time. A test that fails without a mistake too is left out, and the trial made again."""

    run: Run
    at_once: int
    told: Callable[[Mutant, Outcome], None]
    _passes: dict[str, bool] = field(default_factory=dict)

    def decide(self, trials: Sequence[Trial], until: float) -> None:
        waiting, running = list(reversed(trials)), dict[int, tuple[Trial, int, float]]()
        while (waiting and time.monotonic() < until) or running:
            while waiting and len(running) < self.at_once and time.monotonic() < until:
                self._start(waiting.pop(), running)
            time.sleep(0.03)
            for child, (trial, answers, started) in list(running.items()):
                outcome = _ended(child, answers, started)
                if outcome is not None:
                    del running[child]
                    waiting += self._judged(trial, outcome)

    def _start(self, trial: Trial, running: dict[int, tuple[Trial, int, float]]) -> None:
        tests = [test for test in trial.tests if self._passes.get(test, True)]
        answers, answering = os.pipe()
        child = os.fork()
        if child == 0:
            _answer(answering, lambda: self.run(Trial(trial.mutant, tests)))
        os.close(answering)
        running[child] = (Trial(trial.mutant, tests), answers, time.monotonic())

    def _judged(self, trial: Trial, outcome: Outcome) -> list[Trial]:
        """Trials that are to be made before this one is decided."""
        if trial.mutant is None:
            self._passes[trial.tests[0]] = outcome.said == SURVIVED
            return []
        if outcome.failed is not None and outcome.failed not in self._passes:
            return [trial, Trial(None, [outcome.failed])]
        if outcome.failed is not None and not self._passes[outcome.failed]:
            return [trial]
        self.told(trial.mutant, outcome)
        return []


def _answer(answering: int, run: Callable[[], Outcome]) -> None:
    """Never returns: the fork must not go on as its parent."""
    try:
        os.setsid()
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        os.write(answering, json.dumps(run()).encode())
    except BaseException:  # noqa: BLE001  # whatever it is, the parent hears of it
        os.write(answering, json.dumps((f"broken: {traceback.format_exc()}", None)).encode())
    finally:
        os._exit(0)


def _ended(child: int, answers: int, started: float) -> Outcome | None:
    late = time.monotonic() - started > PATIENCE
    if late:
        os.killpg(child, signal.SIGKILL)
    if os.waitpid(child, 0 if late else os.WNOHANG)[0] == 0:
        return None
    with os.fdopen(answers, "rb") as answer:
        said = answer.read()
    if said:
        return Outcome(*json.loads(said))
    return Outcome(LATE if late else NOTICED)


class LiveTrials:
    """Plugin for pytest that makes trials where it would run the collected tests."""

    def __init__(self, root: Path, run: Callable[[Run], None], recorded: Mapping[str, float]) -> None:
        self._root, self._decide, self._recorded = root, run, recorded
        self._failed: str | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        asyncio.run(_warm_up())
        gc.unfreeze()  # frozen objects are in no list
        self._functions = Functions(self._root)
        self._memories = Memories(FOLDERS)
        # what is there now is never collected: forks share its memory
        gc.collect()
        gc.freeze()
        self._decide(self._run)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self._failed is None:
            self._failed = report.nodeid

    def _run(self, trial: Trial) -> Outcome:
        if trial.mutant is not None and not self._functions.change(trial.mutant):
            return Outcome(NOT_LIVE)
        self._memories.forget()
        items = [self._items[test] for test in (*trial.tests, *self._other_cases(trial)) if test in self._items]
        for item, after in zip_longest(items, items[1:]):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self._failed is not None:
                item.session._setupstate.teardown_exact(None)  # drops the databases of the fork
                return Outcome(NOTICED, self._failed)
        return Outcome(SURVIVED)

    def _other_cases(self, trial: Trial) -> list[str]:
        """Cases of the same test functions that were not recorded, those of the likeliest functions first."""
        if trial.mutant is None:
            return []
        lasting = {test.partition("[")[0]: 0.005 + self._recorded[test] for test in trial.tests}
        order = {function: place for place, function in enumerate(lasting)}
        others = [name for name in self._items if name.partition("[")[0] in lasting and name not in self._recorded]
        others.sort(key=lambda name: order[name.partition("[")[0]])
        ends = accumulate(lasting[name.partition("[")[0]] for name in others)
        return [name for name, end in zip(others, ends, strict=True) if end <= OTHERS]


async def _warm_up() -> None:
    """Builds the application that most tests share: two seconds, and each fork would take them."""
    from tests.http.app import open_test_app
    from tests.http.conftest import seed

    opened = await open_test_app()
    await seed(opened)
    await opened.client.aclose()


def run_anew(root: Path) -> Run:
    """A run that imports all of ours again, with the mistake in it."""

    def run(trial: Trial) -> Outcome:
        for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
            del sys.modules[name]
        if trial.mutant is not None:
            sys.meta_path.insert(0, _Changed(root, trial.mutant))
        seen = _FirstFailure()
        code = pytest.main(["-x", *OPTIONS, *IMPORTED_BEFORE, *trial.tests], plugins=[seen])
        if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return Outcome(SURVIVED)
        return Outcome(NOTICED, seen.failed)

    return run


class _FirstFailure:
    failed: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module with a mistake in it."""

    def __init__(self, root: Path, mutant: Mutant) -> None:
        self._file, self._mutant = root / mutant.path, mutant
        self._name = mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._file, loader=self)

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._mutant.tree, str(self._file), "exec", dont_inherit=True)

    def get_source(self, fullname: str) -> str:
        return self._file.read_text()
