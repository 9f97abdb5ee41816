"""Which tests reach a line, those first that are likeliest to notice a mistake there."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tests.mutation.constants import Places

COMMON = {"identity", "entitie", "memory", "postgre", "test", "adapter", "http", "contract", "login", "record"}
"""Words that name no subject, without their plural."""

QUICK = 0.2
"""Seconds of a test all of whose cases can be run."""


class Reached:
    """What tests/mutation/recorded.py wrote: one file or several of different tests."""

    def __init__(self, records: Iterable[Path]) -> None:
        self.seconds: dict[str, float] = {}
        self._lines: dict[str, dict[int, set[str]]] = {}
        self._breadth = Counter[str]()
        for record in records:
            self._add(json.loads(record.read_text()))

    def _add(self, said: dict[str, Any]) -> None:
        names = said["tests"]
        self.seconds |= said["seconds"]
        for file, lines in said["lines"].items():
            kept = self._lines.setdefault(file, {})
            for line, numbers in lines.items():
                tests = [names[number] for number in numbers]
                kept.setdefault(int(line), set()).update(tests)
                self._breadth.update(tests)

    def chosen(self, path: str, places: Places, budget: float) -> list[str]:
        """Tests of these places, else of the file, within so many seconds, and of each test file in turn."""
        reaching = {
            test for file, lines in places for line in lines for test in self._lines.get(file, {}).get(line, ())
        }
        if not reaching:
            reaching = set[str]().union(*self._lines.get(path, {}).values())
        chosen, spent = list[str](), 0.0
        for test in self._in_turn(path, reaching):
            if not chosen or spent + self.seconds[test] <= budget:
                spent += self.seconds[test]
                chosen.append(test)
        return chosen

    def tests_in(self, folders: tuple[str, ...]) -> list[str]:
        return [test for test in self.seconds if test.startswith(folders)]

    def widened(self, tests: Iterable[str]) -> list[str]:
        """All cases of the functions whose recorded case is quick."""
        return list(dict.fromkeys(test.partition("[")[0] if self.seconds[test] < QUICK else test for test in tests))

    def _in_turn(self, path: str, tests: set[str]) -> Iterator[str]:
        """First all tests of files that are named like the module, then one of each other file in turn."""
        by_file: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: (self._breadth[test] * (0.05 + self.seconds[test]), test)):
            by_file.setdefault(test.partition("::")[0], []).append(test)
        words = _words(path)
        near = sorted((file for file in by_file if words & _words(file)), key=lambda file: -len(words & _words(file)))
        for file in near:
            yield from by_file.pop(file)
        for turn in zip_longest(*(by_file[file] for file in sorted(by_file, key=lambda file: by_file[file][0]))):
            yield from filter(None, turn)


def _words(path: str) -> set[str]:
    """Words of a file and its folder, without their plural: ``identity/api_keys.py`` is about ``{"api", "key"}``."""
    *_, folder, name = Path(path).with_suffix("").parts
    found = {word.removesuffix("s") for part in (folder, name) for word in part.split("_")}
    return found - COMMON
