"""The tables in docs/coverage name existing tests."""

import re
from pathlib import Path

import pytest

from adapters.http.request.errors import STATUS
from tests.http.app import open_test_app
from tests.http.served import served_by

ROOT = Path(__file__).resolve().parent.parent
TABLES = sorted((ROOT / "docs" / "coverage").glob("*.md"))
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.name)
def test_every_promise_names_tests_that_are_there(table: Path) -> None:
    rows = [line for line in table.read_text().splitlines() if line.startswith("| ") and "Held by" not in line]
    assert rows
    for row in rows:
        named = _NAMED.findall(row)
        assert named, row
        for file, test in named:
            assert re.search(rf"def {test}\(", (ROOT / file).read_text()), f"{file}::{test}"


async def test_every_endpoint_of_area_a_has_a_row() -> None:
    place = await open_test_app()
    promised = set(
        re.findall(r"^\| `(\w+ /api/[^`]*)`", (ROOT / "docs" / "coverage" / "identity.md").read_text(), re.MULTILINE)
    )
    served = {
        f"{endpoint.method} {endpoint.path}"
        for endpoint in served_by(place.services)
        if endpoint.area == "A" and endpoint.path.startswith("/api/")
    }
    await place.client.aclose()
    assert promised == served


def test_every_error_code_has_a_row() -> None:
    table = (ROOT / "docs" / "coverage" / "identity.md").read_text()
    assert [code for code in STATUS if code not in table] == []
