"""What a process that serves takes: the libraries that it holds, and its memory."""

import subprocess
import sys
from pathlib import Path

from adapters.postgres.entities.reading.select import statements_of
from entrypoints.assembly.adapters import production_adapters, serving_adapters
from entrypoints.assembly.entities import load_registry
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import SECRET_KEY
from tests.entrypoints.processes import ROOT, Serve, environment, eventually
from tests.entrypoints.test_serve import workers_of
from tests.waiting import HUNG_AFTER

NEEDED_BY_FEW = {
    "aiosmtplib",
    "alembic",
    "httpx",
    "httpx2",
    "jinja2",
    "mako",
    "polars",
    "xlsxwriter",
}
"""Imported by the request, the command or the other process that needs them, never to serve.

SQLAlchemy, its ORM, advanced-alchemy, rich and greenlet are not among them: Litestar and structlog import them where
they are installed, and own endpoints may ask for a session (decision 0011).
"""

IDLE_MIB = 200
"""Most that all processes of a service with one worker have together; what they share counts once. The goal is
170."""

PREPARED_AND_SERVED = """
import os, sys
import entrypoints.cli.main, entrypoints.server.serve, entrypoints.server.preparation
from entrypoints.server.worker import served
from entrypoints.settings.settings import read_settings
served(read_settings(os.environ))
print(*{name.partition(".")[0] for name, module in sys.modules.items() if module is not None})
"""


async def test_the_usual_statements_are_compiled_to_serve_and_for_no_command(migrated: dict[str, str]) -> None:
    settings = read_settings({f"TENANTRY_{name}": value for name, value in migrated.items()})
    compiled = []
    for adapters_of in (production_adapters, serving_adapters):
        registry = load_registry(settings.entities)
        async with adapters_of(settings, registry).life():
            compiled.append([statements_of(registry, model).page.cache_info().currsize for model in registry])
    commands, service = compiled
    assert set(commands) == {0}
    assert 0 not in service


def test_to_serve_nothing_is_imported_that_few_requests_need(tmp_path: Path) -> None:
    """Nor to prepare: the processes that serve are forked from the one that did."""
    variables = {
        "DATABASE_URL": "postgresql://nowhere/x",
        "REDIS_URL": "redis://nowhere",
        "SECRET_KEY": SECRET_KEY,
    }
    ended = subprocess.run(
        [sys.executable, "-c", PREPARED_AND_SERVED],
        cwd=tmp_path,
        env=environment(variables),
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )
    imported = set(ended.stdout.split())
    assert {"litestar", "asyncpg", "joserfc", "redis"} <= imported, ended.stderr
    assert imported & NEEDED_BY_FEW == set()


def test_no_module_touches_the_import_system() -> None:
    touching = [
        str(path.relative_to(ROOT))
        for layer in ("tenantry", "domain", "application", "adapters", "entrypoints")
        for path in (ROOT / layer).rglob("*.py")
        if "sys.modules" in path.read_text()
    ]
    assert touching == []


COLLECTOR = """
import gc
from litestar import get
from tenantry import ORDINARY, PUBLIC, rules

@get("/collector", opt=rules(policy=PUBLIC, limit=ORDINARY))
async def collector() -> list[int]:
    return [int(gc.isenabled()), int(gc.get_freeze_count() > 100_000), *gc.get_threshold()]

ROUTES = (collector,)
"""


def test_a_process_that_serves_collects_what_requests_leave(
    serve: Serve, migrated: dict[str, str], tmp_path: Path
) -> None:
    """A start collects nothing until everything is made, and leaves that out of all later passes."""
    (tmp_path / "collector.py").write_text(COLLECTOR)
    served = serve(**migrated, ENTITIES="tenantry.catalogue,collector.py")
    eventually(lambda: served.call("GET", "/collector").body == [1, 1, 10_000, 20, 50])


async def test_an_idle_service_keeps_to_its_memory(serve: Serve, shared: dict[str, str]) -> None:
    served = serve(WORKERS="1", **shared)
    served.log_in(shared["ADMIN_PASSWORD"])
    pids = (served.process.pid, *workers_of(served))
    assert 40 < sum(map(proportional_mib, pids)) < IDLE_MIB
    assert all("/uvloop/" in libraries(pid) for pid in pids)


def libraries(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


def proportional_mib(pid: int) -> float:
    """Proportional set size: of pages that several processes share, each has its part."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
