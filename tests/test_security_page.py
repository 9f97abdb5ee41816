"""docs/security.md claims nothing without a test that is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
ROWS = re.findall(r"^\| (\d+\.\d+\.\d+) \| ([a-z ]+) \| (.+?) \|(.*)\|$", PAGE, re.MULTILINE)
REQUIREMENTS = 253
"""Requirements of level 1 and 2 in ASVS 5.0."""


def test_every_requirement_stands_once_in_its_order() -> None:
    numbers = [tuple(map(int, number.split("."))) for number, *_ in ROWS]
    assert len(numbers) == REQUIREMENTS
    assert numbers == sorted(set(numbers))


def test_what_is_met_names_tests_and_nothing_else_does() -> None:
    for number, state, why, held in ROWS:
        assert state in ("met", "not applicable", "open"), number
        assert why.strip(), number
        assert bool(held.strip()) is (state == "met"), number
        for file, test in re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", held):
            text = (ROOT / file).read_text("utf-8")
            assert not test or re.search(rf"def {test}\(", text), f"{number}: {file}::{test}"


def test_the_counts_are_right() -> None:
    states = [state for _, state, *_ in ROWS]
    told = f"{states.count('met')} are met, {states.count('not applicable')} are not applicable"
    assert f"{told}, {states.count('open')} are open" in PAGE.replace("\n", " ")
