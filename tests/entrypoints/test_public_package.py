"""The package ``tenantry``: its names, and what importing them costs."""

import subprocess
import sys
from importlib import import_module

import pytest

import tenantry


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


def test_other_names_are_no_part_of_it() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(tenantry, "nothing")  # noqa: B009  # a type checker knows that it is not there


@pytest.mark.parametrize("module", ["tenantry.endpoints", "tenantry.plugin"])
def test_the_package_hands_on_all_names_of_its_modules(module: str) -> None:
    assert set(import_module(module).__all__) <= set(tenantry.__all__)
