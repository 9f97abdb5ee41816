"""``make mutate``: makes small mistakes in the code, one at a time, and lists those that no test notices.

First it records which lines each test reaches, once, in ``.mutation``. Each mistake is then shown to the tests that
reach its line, in a fork of a process that has imported and collected everything: the changed function replaces the one
in memory. A mistake in what a module runs while it is imported is shown in a fork that has imported libraries alone.
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from tests.mutation.changes import Mutant, Site, mutant_at, sites_of
from tests.mutation.constants import readers_of
from tests.mutation.equivalent import reason_of
from tests.mutation.reach import Reached
from tests.mutation.recorded import FOLDERS
from tests.mutation.servers import servers_with_template
from tests.mutation.trials import (
    IMPORTED_BEFORE,
    NOT_LIVE,
    NOTICED,
    OPTIONS,
    OURS,
    SURVIVED,
    LiveTrials,
    Outcome,
    Run,
    Trial,
    Trials,
    run_anew,
)

ROOT = Path(__file__).resolve().parents[2]
RECORDS = ROOT / ".mutation"
TESTS = {
    "http": ["tests/http", "--ignore=tests/http/docs/test_docs_page.py"],
    "rest": ["tests/domain", "tests/application", "tests/contracts", "tests/golden", "tests/adapters/memory"],
    "postgres": ["tests/adapters/postgres", "tests/replicas", "-k", "not changes and not migrations"],
    "documentation": ["tests/documentation"],
    "drawn": ["tests/twins", "tests/model"],
}
"""What is recorded, each by a process of its own: tests that take long and reach little of what is changed are not."""

DOCUMENTS = ("tests/documentation/", "tests/http/docs/", "tests/application/test_promised_numbers.py")
"""Tests that compare documents and promises with the code and its constants: no line of a constant leads to them."""

Told = Callable[[Mutant, Outcome], None]
Decide = Callable[[Run, Told], None]

LIBRARIES = ("asyncpg", "httpx", "litestar", "sqlalchemy.ext.asyncio", "redis.asyncio", "polars")


def main() -> None:
    asked = _asked()
    reached = Reached(_records(asked.record))
    again = _survivors(asked.again) if asked.again else set()
    places = {key.partition(" ")[0] for key in again}
    sites = sampled(sys.maxsize if again else asked.n, asked.seed, asked.only)
    sites = [site for site in sites if not again or f"{site.path}:{site.line}" in places]
    tell(f"{len(sites)} mistakes, {len(reached.seconds)} recorded tests")
    for library in LIBRARIES:
        __import__(library)
    until = time.monotonic() + asked.minutes * 60
    with _copied() as copy, servers_with_template():
        trials = [trial for site in sites if (trial := _trial(site, reached, asked.budget))]
        if asked.again:
            trials = [trial for trial in trials if _key(trial.mutant) in again]

        def decide(run: Run, told: Told) -> None:
            Trials(run, asked.at_once, told).decide(trials, until)

        outcomes = _decided_live(copy, trials, reached.seconds, decide)

        def told(mutant: Mutant, outcome: Outcome) -> None:
            tell_outcome(mutant, outcome)
            outcomes[_key(mutant)] = outcome.said

        _enter(copy)
        not_live = [trial for trial in trials if outcomes.get(_key(trial.mutant)) == NOT_LIVE]
        anew = [Trial(trial.mutant, reached.widened(trial.tests)) for trial in not_live]
        Trials(run_anew(copy), asked.at_once, told).decide(anew, until)
        tell("\nsurvivors are shown to more tests, with everything imported anew:")
        survivors = [trial.mutant for trial in trials if outcomes.get(_key(trial.mutant)) == SURVIVED]
        longer = [
            Trial(mutant, reached.widened(_tests(mutant, reached, asked.second))) for mutant in survivors if mutant
        ]
        Trials(run_anew(copy), asked.at_once, told).decide(longer, until)
    _tell_all([trial.mutant for trial in trials if trial.mutant], outcomes)


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def tell_outcome(mutant: Mutant, outcome: Outcome) -> None:
    tell(f"{outcome.said:9} {mutant.path}:{mutant.line}  {mutant.change}  {outcome.failed or ''}")


def _tell_all(mutants: Sequence[Mutant], outcomes: dict[str, str]) -> None:
    said = Counter(outcomes.get(_key(mutant), "not decided").partition(":")[0] for mutant in mutants)
    decided = said[NOTICED] + said[SURVIVED]
    tell(f"\n{dict(said)}; survivors:")
    for mutant in mutants:
        if outcomes.get(_key(mutant)) == SURVIVED:
            tell(f"  {mutant.path}:{mutant.line}  {mutant.change}")
    tell(f"{said[NOTICED]} of {decided} decided were noticed: {100 * said[NOTICED] / max(1, decided):.1f} of 100")


def _key(mutant: Mutant | None) -> str:
    return f"{mutant.path}:{mutant.line} {mutant.change}" if mutant else ""


def _survivors(file: str) -> set[str]:
    """Keys of the mistakes that a run calls survivors in its list at the end, or line by line."""
    found = re.findall(r"^(?:survived |broken: \w*| ) +(\S+:\d+)  (.+?)(?:  )?$", Path(file).read_text(), re.MULTILINE)
    return {f"{place} {change}" for place, change in found}


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--at-once", type=int, default=max(2, os.cpu_count() or 1))
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of recorded tests for each mistake")
    parser.add_argument("--second", type=float, default=120.0, help="seconds for those that survived the first")
    parser.add_argument("--record", action="store_true", help="record anew which lines the tests reach")
    parser.add_argument("--again", default="", help="what a run said: its survivors alone, with another budget perhaps")
    parser.add_argument("--only", default="", help="part of the paths, with an optional :line")
    return parser.parse_args()


def sampled(count: int, seed: int, only: str) -> list[Site]:
    path_part, _, line = only.partition(":")
    found = [
        site
        for file in _files()
        if path_part in str(file)
        for site in sites_of(str(file.relative_to(ROOT)), file.read_text())
        if not line or site.line == int(line)
    ]
    return random.Random(seed).sample(found, min(count, len(found)))


def _trial(site: Site, reached: Reached, budget: float) -> Trial | None:
    """None for a mistake that is known to make no difference."""
    source = (ROOT / site.path).read_text()
    mutant = mutant_at(site, source)
    if reason := reason_of(site.path, source.splitlines()[site.line - 1], mutant.change):
        tell(f"no difference {mutant.path}:{mutant.line}  {mutant.change}  {reason}")
        return None
    return Trial(mutant, _tests(mutant, reached, budget))


def _tests(mutant: Mutant, reached: Reached, budget: float) -> list[str]:
    readers = readers_of(ROOT, _files(), mutant.path, mutant.line)
    places = [*readers, (mutant.path, range(mutant.line, mutant.last_line + 1))]
    documents = reached.tests_in(DOCUMENTS) if readers else []
    return list(dict.fromkeys([*reached.chosen(mutant.path, places, budget), *documents]))


def _files() -> list[Path]:
    return sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))


def _records(anew: bool) -> list[Path]:
    """Records of all tests; those that are missing are made, beside each other."""
    RECORDS.mkdir(exist_ok=True)
    files = {RECORDS / f"{name}.json": arguments for name, arguments in TESTS.items()}
    made = []
    for file, arguments in files.items():
        if anew or not file.exists():
            tell(f"recording {' '.join(arguments)}")
            command = [sys.executable, "-m", "pytest", "-p", "tests.mutation.recorded", *OPTIONS[:-1], "timeout=240"]
            environment = os.environ | {"TENANTRY_MUTATION_RECORD": str(file)}
            command += [*IMPORTED_BEFORE, *arguments]
            made.append(subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL))
    for process in made:
        process.wait()
    return list(files)


@contextmanager
def _copied() -> Iterator[Path]:
    """A copy of what git knows: the tree may be worked on meanwhile."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="tenantry-mutants-") as folder:
        copy = Path(folder).resolve() / "tree"
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, copy / name)
        yield copy


def _enter(copy: Path) -> None:
    """From here on everything of ours is imported from the copy."""
    os.chdir(copy)
    os.environ["PYTHONPATH"] = str(copy)
    sys.path[:] = [str(copy), *(entry for entry in sys.path if entry and Path(entry).resolve() != ROOT)]


def _decided_live(copy: Path, trials: Sequence[Trial], recorded: Mapping[str, float], decide: Decide) -> dict[str, str]:
    """What each trial said, by mistake. Everything is collected in a fork, so that this process stays without."""
    heard, saying = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(saying, "w", buffering=1) as said:
            try:
                _collect_and_decide(copy, trials, recorded, decide, said)
            finally:
                said.flush()
                os._exit(0)
    os.close(saying)
    with os.fdopen(heard) as lines:
        outcomes = dict[str, str](json.loads(line) for line in lines)
    os.waitpid(child, 0)
    return outcomes


def _collect_and_decide(
    copy: Path, trials: Sequence[Trial], recorded: Mapping[str, float], decide: Decide, said: TextIO
) -> None:
    import pytest

    def told(mutant: Mutant, outcome: Outcome) -> None:
        if outcome.said != NOT_LIVE:
            tell_outcome(mutant, outcome)
        said.write(json.dumps((_key(mutant), outcome.said)) + "\n")

    _enter(copy)
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    collected = sorted({test.partition("::")[0] for trial in trials for test in trial.tests})
    plugin = LiveTrials(copy, lambda run: decide(run, told), recorded)
    pytest.main([*OPTIONS, *IMPORTED_BEFORE, *collected], plugins=[plugin])


if __name__ == "__main__":
    main()
