"""The wheel beside a project with packages called ``domain``, ``application``, ``adapters`` and ``entrypoints``.

The package ``tenantry``: its names, and what importing them costs.
"""

import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import tenantry
from tests.entrypoints.processes import PASSWORD, Served, environment, free_port
from tests.waiting import HUNG_AFTER
from tools.build_wheel import LAYERS, PACKAGE, stage

BOOKS = """
from typing import Annotated

from msgspec import Meta, Struct

from domain.shelves import SHELVES
from tenantry import entity, unique


@entity("books", search=["title"], unique=[unique("title")])
class Book(Struct, rename="camel", kw_only=True):
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    shelf: str = SHELVES[0]


ENTITIES = (Book,)
"""


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the unpacked wheel, as an installer leaves it."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for package in ("domain", "application", "adapters", "entrypoints"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "domain" / "shelves.py").write_text('SHELVES = ("fiction", "poetry")\n')
    (tmp_path / "domain" / "books.py").write_text(BOOKS)
    return tmp_path


def command(installed: Path, *arguments: str, **variables: str) -> tuple[list[str], dict[str, str]]:
    """Without the ``.pth`` file (``-S``) that makes the clone importable in the tests' own environment."""
    packages = sysconfig.get_paths()["purelib"]
    return (
        [sys.executable, "-S", "-m", "tenantry", *arguments],
        {**environment(variables), "PYTHONPATH": f"{installed}:{packages}"},
    )


@pytest.fixture
def served(installed: Path, project: Path, shared: dict[str, str]) -> Iterator[Served]:
    variables = {**shared, "ENTITIES": "domain.books", "PORT": str(free_port())}
    arguments, variables_set = command(installed, "migrate", "--write", "books", **variables)
    written = subprocess.run(
        arguments, env=variables_set, cwd=project, capture_output=True, text=True, timeout=HUNG_AFTER, check=False
    )
    assert written.returncode == 0, written.stdout + written.stderr
    arguments, variables_set = command(installed, "serve", **variables)
    process = subprocess.Popen(
        arguments, env=variables_set, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with process:
        yield Served(process, f"http://127.0.0.1:{variables['PORT']}").await_ready()
        process.terminate()


def test_the_wheel_holds_one_package(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")} == {"tenantry"}


def test_a_project_with_packages_of_the_same_names_is_served(served: Served, project: Path) -> None:
    token = served.log_in(PASSWORD)
    created = served.call("POST", "/api/books", {"title": "Emma"}, token)
    assert (created.status, created.body["data"]["shelf"]) == (201, "fiction")
    (migration,) = (project / "domain" / "migrations").glob("*.py")
    assert "from tenantry.migrations import secure_table" in migration.read_text()


@pytest.mark.promise("console, budgets: the build is that of the sources, byte for byte, and needs no Node to run")
def test_the_wheel_holds_the_built_console_and_not_its_sources(tmp_path: Path) -> None:
    for layer in LAYERS:
        (tmp_path / "root" / layer).mkdir(parents=True)
    (tmp_path / "root" / PACKAGE).mkdir()
    console = tmp_path / "root" / "adapters" / "console"
    for name in ("built/index.html", "source/src/main.tsx", "source/node_modules/preact/preact.js"):
        (console / name).parent.mkdir(parents=True, exist_ok=True)
        (console / name).touch()
    staged = stage(tmp_path / "root", tmp_path / "staged")
    files = [path.relative_to(staged).as_posix() for path in staged.rglob("*") if path.is_file()]
    assert files == ["adapters/console/built/index.html"]


def modules_after(code: str) -> set[str]:
    told = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in told.stdout.split()}


def test_declarations_import_no_web_framework_and_no_database() -> None:
    """Worker processes that read spreadsheets import users' files."""
    imported = modules_after("import tenantry, tenantry.catalogue; tenantry.entity, tenantry.Caller")
    assert not imported & {"litestar", "sqlalchemy", "asyncpg", "redis", "httpx", "adapters", "entrypoints"}


def test_routes_import_litestar_and_no_adapters_of_databases() -> None:
    imported = modules_after("from tenantry import Rows, needs, rules")
    assert "litestar" in imported
    assert not imported & {"asyncpg", "redis"}


@pytest.mark.parametrize("name", tenantry.__all__)
def test_every_name_can_be_imported(name: str) -> None:
    assert getattr(tenantry, name) is not None


def test_the_package_has_no_unknown_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(tenantry, "nothing")  # noqa: B009  # a type checker knows that it is not there


@pytest.mark.parametrize("module", ["tenantry.endpoints", "tenantry.plugin"])
def test_the_package_hands_on_all_names_of_its_modules(module: str) -> None:
    assert set(import_module(module).__all__) <= set(tenantry.__all__)
