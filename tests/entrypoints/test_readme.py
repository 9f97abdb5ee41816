"""The README's own entity, to the letter: one file, one command, and the API is there."""

import re
from pathlib import Path

from tests.entrypoints.processes import ROOT, Serve, Tenantry

MODULES = "tenantry.catalogue,books.py"
BOOK = {"title": "Emma", "isbn": "9780141439587", "pages": 474}


def example() -> str:
    (block,) = re.findall(r"```python\n# books\.py\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    return str(block)


def test_the_example_fits_in_twenty_lines() -> None:
    assert len(example().splitlines()) <= 20


async def test_a_file_and_a_command_make_a_whole_api(
    serve: Serve, tenantry: Tenantry, tmp_path: Path, shared: dict[str, str]
) -> None:
    (tmp_path / "books.py").write_text(example())
    written = tenantry("migrate", "--write", "add books", ENTITIES=MODULES, **shared)
    assert written.returncode == 0, written.stdout + written.stderr
    (migration,) = (tmp_path / "migrations").glob("*.py")
    assert "secure_table" in migration.read_text()

    running = serve(ENTITIES=MODULES, **shared)
    token = running.log_in(shared["ADMIN_PASSWORD"])
    created = running.call("POST", "/api/books", BOOK, token)
    assert (created.status, created.body["data"]["title"]) == (201, "Emma")
    twice = running.call("POST", "/api/books", BOOK, token)
    assert (twice.status, twice.body["error"]["details"][0]["field"]) == (409, "isbn")
    wrong = running.call("POST", "/api/books", {"isbn": "1", "pages": 0}, token)
    assert {one["field"] for one in wrong.body["error"]["details"]} == {"title", "isbn", "pages"}
    found = running.call("GET", "/api/books?search=emma&minPages=400", token=token)
    assert found.body["data"]["totalCount"] == 1
    assert "/api/books" in running.call("GET", "/docs/v1/docs.json").body["paths"]
    permissions = running.call("GET", "/api/permissions", token=token).body["items"]
    assert {f"{action}:books" for action in ("create", "read", "update", "delete")} <= {
        one["name"] for one in permissions
    }
