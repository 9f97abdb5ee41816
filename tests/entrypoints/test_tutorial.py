"""docs/tutorial.md to the letter: its files are written and its commands run, in their order."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.entrypoints.processes import PASSWORD, ROOT, Serve, free_port
from tests.waiting import HUNG_AFTER

PAGE = (ROOT / "docs" / "tutorial.md").read_text()
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Reader:
    """Types the blocks, in one shell as long as no service is started between them."""

    def __init__(self, folder: Path, shared: dict[str, str]) -> None:
        self.folder = folder
        self.settings = {**shared, "PORT": str(free_port())}

    def type(self, *blocks: str) -> list[str]:
        """What each of the blocks printed."""
        between = "\necho ==== between two blocks\n"
        return self._run(between.join(map(self._typed, blocks))).split("==== between two blocks\n")

    def _typed(self, script: str) -> str:
        replacements = {
            # A reader has what the extra `testing` installs, and pytest-asyncio is no part of it.
            r"^python3 -m pytest": f"{shlex.quote(sys.executable)} -m pytest -p no:cacheprovider -p no:asyncio",
            r"^tenantry ": f"{shlex.quote(sys.executable)} -m tenantry ",
            r"'paste the printed password here'": shlex.quote(PASSWORD),
            r"http://localhost:8000": f"http://127.0.0.1:{self.settings['PORT']}",
        }
        for pattern, replacement in replacements.items():
            script = re.sub(pattern, replacement, script, flags=re.MULTILINE)
        return script

    def _run(self, script: str) -> str:
        ran = subprocess.run(
            ["/bin/bash", "-c", f"set -euo pipefail\n{script}"],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HUNG_AFTER,
            check=False,
        )
        assert ran.returncode == 0, f"{script}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TENANTRY_")}
        own = {f"TENANTRY_{name}": value for name, value in self.settings.items()}
        return {**inherited, **own, "PYTHONPATH": str(ROOT)}


def test_every_block_of_the_tutorial_runs_in_order(serve: Serve, shared: dict[str, str], tmp_path: Path) -> None:
    reader = Reader(tmp_path, shared)
    for kind, block in _BLOCK.findall(PAGE):
        if kind == "python":
            (tmp_path / block.splitlines()[0].removeprefix("# ")).write_text(block)
    test, migrate, *rest = (block for kind, block in _BLOCK.findall(PAGE) if kind == "sh")
    assert "1 passed" in reader.type(test)[0]
    reader.type(migrate.replace("tenantry serve\n", ""))
    serve(**reader.settings, ENTITIES=str(tmp_path / "library.py"))
    first, other, lesser = reader.type(*rest)
    assert '"lent":1' in first
    assert '"author":{' in first
    assert '"items":[]' in other
    assert '"name":"Jane Austen"' in other
    assert '"NOT_FOUND"' in other
    assert '"FORBIDDEN"' in lesser
