"""The plugin of pytest in a pytest of its own, with the tests that docs/testing.md shows and a project's entities."""

import subprocess
import sys
from pathlib import Path

import pytest

from entrypoints.testing.client import open_client
from tests.documentation.documents import copied
from tests.entrypoints.processes import ROOT, environment
from tests.waiting import HUNG_AFTER

pytestmark = pytest.mark.end_to_end

TAGS = """
from msgspec import Struct
from tenantry import entity

@entity("tags")
class Tag(Struct, rename="camel", kw_only=True):
    name: str

ENTITIES = (Tag,)
"""
OF_THE_PROJECT = """
def test_the_entities_of_the_project_are_served(tenantry_client):
    assert tenantry_client.post("/api/tags", json={"name": "new"}).status_code == 201
    assert tenantry_client.get("/api/products").status_code == 404

async def a_coroutine_of(client):
    return client.get("/api/tags").status_code

def test_a_loop_may_run(tenantry_client):
    import asyncio
    assert asyncio.run(a_coroutine_of(tenantry_client)) == 200
"""
OTHER_SETTINGS = """
import pytest

@pytest.fixture
def tenantry_settings():
    return {"TENANTRY_ENTITIES": "tenantry.catalogue"}

def test_its_own_settings_win(tenantry_client):
    assert tenantry_client.get("/api/products").status_code == 200
    assert tenantry_client.get("/api/tags").status_code == 404
"""


def _pytest(folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    # named by -p: the environment of these tests may be older than the entry point
    plugins = ("-p", "no:cacheprovider", "-p", "no:tenantry", "-p", "tenantry.pytest_plugin")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--rootdir", str(folder), *plugins, str(folder)],
        cwd=folder,
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )


def test_what_the_page_shows(tmp_path: Path) -> None:
    copied("testing.md", "test_products.py", tmp_path)
    ended = _pytest(tmp_path)
    assert "3 passed" in ended.stdout, ended.stdout + ended.stderr
    # Nobody looks for a fault of their own in what our libraries warn of.
    assert "Warning" not in ended.stdout


def test_a_project_s_settings_are_found_and_replaced(tmp_path: Path) -> None:
    (tmp_path / "tags.py").write_text(TAGS)
    # what else stands there is for the service: no test may reach its database
    (tmp_path / "tenantry.toml").write_text('entities = ["tags.py"]\ndatabase_url = "postgresql://127.0.0.1:1/none"\n')
    (tmp_path / "test_tags.py").write_text(OF_THE_PROJECT)
    (tmp_path / "test_others.py").write_text(OTHER_SETTINGS)
    ended = _pytest(tmp_path)
    assert "3 passed" in ended.stdout, ended.stdout + ended.stderr


def test_a_variable_of_the_environment_wins(tmp_path: Path) -> None:
    (tmp_path / "tags.py").write_text(TAGS)
    (tmp_path / "tenantry.toml").write_text('entities = ["nothing.py"]\n')
    (tmp_path / "test_tags.py").write_text(OF_THE_PROJECT)
    assert "2 passed" in _pytest(tmp_path, ENTITIES="tags.py").stdout


def test_mails_and_users_are_those_of_one_service() -> None:
    with open_client() as client:
        ada = {"email": "ada@example.com", "password": "correct horse battery", "fullName": "Ada Lovelace"}
        assert client.anonymous().post("/api/auth/register", json=ada).status_code == 201
        assert "ada@example.com" in {mail.to for mail in client.mails()}
        reader = client.user("reader@acme.example", ["read:products"])
        assert reader.get("/api/auth/me").json()["data"]["email"] == "reader@acme.example"
        for answer in (client.put("/api/nothing"), client.patch("/api/nothing"), client.delete("/api/nothing")):
            assert answer.status_code == 404


def test_the_entry_point_is_declared() -> None:
    import tomllib

    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert declared == {"pytest11": {"tenantry": "tenantry.pytest_plugin"}}


def test_pytest_loads_neither_a_database_nor_a_web_framework(tmp_path: Path) -> None:
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n\ndef test_nothing():\n    assert not {'litestar', 'sqlalchemy', 'httpx'} & sys.modules.keys()\n"
    )
    ended = _pytest(tmp_path)
    assert "1 passed" in ended.stdout, ended.stdout


@pytest.mark.parametrize("name", ["TenantryClient", "open_client"])
def test_names_are_public(name: str) -> None:
    import tenantry.testing

    assert name in tenantry.testing.__all__
