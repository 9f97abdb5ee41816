"""Clients that three generators make of the OpenAPI document: made, type-checked strictly, and used (``make clients``).

Not collected with the other tests: it needs Node and the packages that ``make clients`` installs.
"""

import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.http.static_files import ASSETS
from tests.conftest import NewDatabase
from tests.entrypoints.conftest import serving
from tests.entrypoints.processes import PASSWORD, ROOT, Served

HERE, MADE = ROOT / "tests" / "clients", ROOT / ".venv" / "clients"
PYTHON = MADE / "python" / "bin"
EMAIL = "admin@example.com"


@pytest.fixture(scope="module")
async def database(new_database: NewDatabase) -> str:
    return await new_database()


@pytest.fixture(scope="module")
def service(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as serve:
        settings = {"DATABASE_URL": database, "ADMIN_EMAIL": EMAIL, "ADMIN_PASSWORD": PASSWORD, "RATE_LIMITS": "count"}
        yield serve(**settings, SECRET_KEY="a secret of thirty-two characters", WORKERS="1")


@pytest.fixture(scope="module")
def document(service: Served) -> Path:
    """The document as the service serves it, in an emptied folder beside the installed generators."""
    folder = MADE / "made"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for source in (*HERE.glob("*.ts"), HERE / "tsconfig.json", ASSETS / "client.js", ASSETS / "client.d.ts"):
        shutil.copy(source, MADE)
    # openapi-python-client runs ruff, one of whose fixes (PYI036) is code that mypy refuses
    (MADE / "ruff.toml").write_text('lint.select = ["F"]\n')
    path = folder / "document.json"
    with urllib.request.urlopen(f"{service.url}/docs/v1/docs.json", timeout=10) as answer:
        path.write_bytes(answer.read())
    return path


def run(*command: str | Path) -> str:
    done = subprocess.run(command, cwd=MADE, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def typescript(document: Path) -> Path:
    """Both clients of TypeScript, type-checked and compiled."""
    tools = MADE / "node_modules" / ".bin"
    types = document.with_name("document.d.ts")
    run(tools / "openapi-typescript", document, "-o", types)
    run(tools / "openapi-ts", "-i", document, "-o", document.with_name("hey"))
    run(tools / "tsc", "-p", MADE)
    return document.with_name("out")


@pytest.mark.promise(
    "declarations, OpenAPI document: Three generators with their defaults make clients that are type-checked strictly "
    "and run login, switch, pages by cursor, fields=, batch and import (make clients, in CI)"
)
@pytest.mark.parametrize(("client", "prefix"), [("openapi_fetch.js", "FETCH"), ("hey_api.js", "HEY")])
def test_a_client_of_typescript_works(service: Served, typescript: Path, client: str, prefix: str) -> None:
    assert run("node", typescript / client, service.url, EMAIL, PASSWORD, prefix) == "done\n"


@pytest.mark.promise(
    "declarations, OpenAPI document: Three generators with their defaults make clients that are type-checked strictly "
    "and run login, switch, pages by cursor, fields=, batch and import (make clients, in CI)"
)
def test_the_client_of_python_works(service: Served, document: Path) -> None:
    folder = document.with_name("python")
    run(PYTHON / "openapi-python-client", "generate", "--path", document, "--output-path", folder, "--meta", "none")
    package = folder.rename(document.with_name("tenantry_client"))
    client = package.with_name("python_client.py")
    shutil.copy(HERE / client.name, client)
    run(ROOT / ".venv/bin/mypy", "--strict", "--config-file=", f"--python-executable={PYTHON / 'python'}", client)
    assert run(PYTHON / "python", client, service.url, EMAIL, PASSWORD, "PYTHON") == "done\n"
