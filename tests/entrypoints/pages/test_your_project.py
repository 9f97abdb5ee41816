"""docs/your-project.md to the letter: its commands run in order, in an environment that has the wheel alone.

docs/tutorial.md to the letter: its files are written and its commands run, in their order.
"""

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from entrypoints.cli.new_project import FILES
from tests.entrypoints.processes import PASSWORD, ROOT, Serve, Served, Tenantry, free_port
from tests.waiting import HUNG_AFTER

PAGE = (ROOT / "docs" / "your-project.md").read_text()
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


class Reader:
    """Types the page's blocks; the packages that the wheel needs come from the tests' own environment."""

    def __init__(self, folder: Path, wheel: Path, settings: dict[str, str]) -> None:
        self.folder, self.wheel, self.url = folder, wheel, f"http://127.0.0.1:{settings['PORT']}"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("TENANTRY_", "PYTHON"))}
        self.environment = inherited | {f"TENANTRY_{name}": value for name, value in settings.items()}
        self.served: Served | None = None

    def run(self, block: str) -> str:
        before, serves, _ = block.partition("tenantry serve\n")
        ran = subprocess.run(
            ["/bin/bash", "-c", f"set -euo pipefail\n{self.typed(before)}"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=HUNG_AFTER,
            check=False,
        )
        assert ran.returncode == 0, f"{before}\n{ran.stdout}\n{ran.stderr}"
        if serves:
            self.serve()
        return ran.stdout

    def typed(self, script: str) -> str:
        """What differs on the test's machine: no network, another address, a password that is known."""
        packages = shlex.quote(sysconfig.get_paths()["purelib"])
        install = f"pip install -q --no-deps --no-index {shlex.quote(str(self.wheel))}"
        borrow = (
            f"echo {packages} > $(python -c 'import sysconfig; print(sysconfig.get_paths()[\"purelib\"])')/borrowed.pth"
        )
        replacements = {
            r"^python3 -m venv": f"{shlex.quote(sys.executable)} -m venv",
            r"^pip install .*$": f"{install}\n{borrow}",
            r"^pytest -q$": "python -m pytest -q -p no:cacheprovider",
            r"'paste the printed password here'": shlex.quote(PASSWORD),
            r"http://localhost:8000": self.url,
        }
        activate = ". .venv/bin/activate\n" if (self.folder / ".venv").exists() else ""
        for pattern, replacement in replacements.items():
            script = re.sub(pattern, replacement.replace("\\", r"\\"), script, flags=re.MULTILINE)
        return activate + script

    def serve(self) -> None:
        process = subprocess.Popen(
            [self.folder / ".venv" / "bin" / "tenantry", "serve"],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.served = Served(process, self.url)
        self.served.await_ready()


@pytest.fixture
def reader(tmp_path: Path, wheel: Path, shared: dict[str, str]) -> Iterator[Reader]:
    reader = Reader(tmp_path, wheel, {**shared, "PORT": str(free_port())})
    yield reader
    if reader.served is not None:
        with reader.served.process as process:
            process.terminate()


@pytest.mark.promise(
    "declarations, projects: docs/your-project.md is followed word for word in an environment that has the wheel "
    "alone: entities, routes, migrations, settings, tests in memory"
)
def test_every_block_of_the_page_runs_in_order(reader: Reader) -> None:
    printed = [reader.run(block) for block in BLOCKS]
    assert "3 passed" in printed[1]
    assert '"copies":1' in printed[-1]
    (migration,) = (reader.folder / "migrations").glob("*.py")
    assert "secure_table" in migration.read_text()
    assert reader.served is not None
    paths = reader.served.call("GET", "/docs/v1/docs.json").body["paths"]
    assert "/api/books/{id}/lend" in paths
    assert "/api/products" not in paths


@pytest.mark.promise(
    "declarations, projects: docs/your-project.md is followed word for word in an environment that has the wheel "
    "alone: entities, routes, migrations, settings, tests in memory"
)
def test_the_page_names_every_file_of_a_project() -> None:
    assert [name for name in FILES if f"`{name}`" not in PAGE] == []


@pytest.mark.promise("declarations, projects: tenantry init overwrites nothing")
def test_init_changes_nothing_in_a_folder_with_an_existing_file(tmp_path: Path, tenantry: Tenantry) -> None:
    (tmp_path / "books.py").write_text("mine\n")
    (tmp_path / ".gitignore").write_text("mine\n")
    refused = tenantry("init")
    assert refused.returncode == 2
    assert "books.py, .gitignore already, and nothing was written" in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "books.py"]
    made = tenantry("init", "shop")
    assert made.returncode == 0, made.stderr
    assert {path.name for path in (tmp_path / "shop").iterdir()} == {*FILES, "migrations"}
    assert "cd shop" in made.stdout
    again = tenantry("init", "shop")
    assert again.returncode == 2


@pytest.mark.promise(
    "declarations, projects: Compose file and Dockerfile of a project carry it, and those here serve a mounted or "
    "copied one"
)
def test_its_images_serve_the_project(tmp_path: Path, tenantry: Tenantry) -> None:
    assert tenantry("init").returncode == 0
    assert "COPY . /project" in (tmp_path / "Dockerfile").read_text()
    assert "WORKDIR /project" in (ROOT / "Dockerfile").read_text()
    own, ours = (yaml.safe_load((folder / "compose.yaml").read_text())["services"] for folder in (tmp_path, ROOT))
    assert own["postgres"] == ours["postgres"] | {"environment": own["postgres"]["environment"]}
    assert own["valkey"] == ours["valkey"]
    assert any(volume.endswith(":/project:ro") for volume in ours["tenantry"]["volumes"])


PAGE_OF_TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text()
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class ReaderOfTutorial:
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
    reader = ReaderOfTutorial(tmp_path, shared)
    for kind, block in _BLOCK.findall(PAGE_OF_TUTORIAL):
        if kind == "python":
            (tmp_path / block.splitlines()[0].removeprefix("# ")).write_text(block)
    test, migrate, *rest = (block for kind, block in _BLOCK.findall(PAGE_OF_TUTORIAL) if kind == "sh")
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
