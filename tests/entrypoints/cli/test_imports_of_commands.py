"""Modules that commands import: Litestar and advanced-alchemy need half of a short command's time.

`tenantry check` compares tables by advanced-alchemy's commands, so it imports both, but no handlers.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.entrypoints.processes import environment
from tests.waiting import HUNG_AFTER

RUN = """
import sys
from entrypoints.cli.main import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""
OF_HANDLERS = {"litestar", "advanced_alchemy", "structlog", "granian", "adapters.http.app"}
ROUTES = """
from litestar import get
from tenantry import ORDINARY, PUBLIC, rules

@get("/report", opt=rules(policy=PUBLIC, limit=ORDINARY))
async def report() -> list[int]:
    return []

ROUTES = (report,)
"""


def run(folder: Path, variables: dict[str, str], *arguments: str) -> tuple[str, set[str]]:
    """Run the command; return its output and the names of the imported modules."""
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *arguments],
        cwd=folder,
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout, set(ended.stderr.split())


@pytest.mark.parametrize(
    "command",
    [
        "users list --tenant system",
        "tenants list",
        "roles list --tenant system",
        "service-accounts list --tenant system",
        "domains list --tenant system",
    ],
)
def test_commands_import_no_library_of_handlers(migrated: dict[str, str], tmp_path: Path, command: str) -> None:
    _, imported = run(tmp_path, migrated, *command.split())
    assert {"sqlalchemy", "redis", "asyncpg"} <= imported
    assert imported & OF_HANDLERS == set()


def test_check_imports_handlers_only_for_own_routes_and_reports_these(migrated: dict[str, str], tmp_path: Path) -> None:
    said, imported = run(tmp_path, migrated, "check")
    assert "adapters.http.app" not in imported
    assert "routes" not in said
    (tmp_path / "reports.py").write_text(ROUTES)
    said, imported = run(tmp_path, {**migrated, "ENTITIES": "tenantry.catalogue,reports.py"}, "check")
    assert "GET /report" in said
    assert "adapters.http.app" in imported
