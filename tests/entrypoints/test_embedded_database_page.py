"""docs/embedded-database.md: its commands look into the database of a running service."""

import re
import subprocess
from pathlib import Path

from domain.scope import SYSTEM_TENANT_ID
from tests.entrypoints.processes import ROOT, Serve
from tests.waiting import HUNG_AFTER

PAGE = (ROOT / "docs" / "embedded-database.md").read_text()


def test_the_page_s_commands_show_users_and_the_rows_of_one_tenant(serve: Serve, tmp_path: Path) -> None:
    serve()
    shell, sql = (re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0] for language in ("sh", "sql"))
    (tmp_path / "look.sql").write_text(sql)
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    script = shell.replace('pathlib.Path(".venv").rglob(', 'pathlib.Path(".venv/lib").rglob(')
    script += '"$PSQL" "$URL" -v ON_ERROR_STOP=1 -f look.sql\n'
    ran = subprocess.run(
        ["/bin/bash", "-c", f"set -euo pipefail\n{script}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "admin@example.com | t" in ran.stdout
    assert "(1 row)" in ran.stdout
    assert str(SYSTEM_TENANT_ID) in ran.stdout  # the tenant that the page names is one
