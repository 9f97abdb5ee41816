"""The list of mistakes that make no difference speaks of the code as it is."""

from collections import Counter
from pathlib import Path

import pytest

from tests.mutation.changes import mutant_at, sites_of
from tests.mutation.equivalent import EQUIVALENT, Equivalent

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("known", EQUIVALENT, ids=lambda known: f"{known.path}: {known.change}")
def test_each_mistake_of_the_list_can_still_be_made(known: Equivalent) -> None:
    source = (ROOT / known.path).read_text()
    numbered = {number for number, line in enumerate(source.splitlines(), 1) if line.strip() == known.source}
    sites = [site for site in sites_of(known.path, source) if site.line in numbered]
    assert known.change in {mutant_at(site, source).change for site in sites}


def test_no_mistake_is_listed_twice_or_without_a_reason() -> None:
    listed = Counter((known.path, known.source, known.change) for known in EQUIVALENT)
    assert [key for key, times in listed.items() if times > 1] == []
    assert all(known.reason for known in EQUIVALENT)
