"""The command line in processes that end with the test."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import NewDatabase
from tests.entrypoints.forks import Commands
from tests.entrypoints.processes import COMMAND, PASSWORD, ROOT, Serve, Served, Tenantry, environment, free_port
from tests.waiting import HUNG_AFTER


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with serving(tmp_path) as serve:
        yield serve


@pytest.fixture(scope="module")
def module_serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """``serve`` for a service that all tests of a file share."""
    with serving(tmp_path_factory.mktemp("served")) as serve:
        yield serve


@contextmanager
def serving(folder: Path) -> Iterator[Serve]:
    """Starts ``tenantry serve`` on a free port, and waits until it says that it serves.

    The words of ``before`` are a command that runs the command which follows them.
    """
    started: list[Served] = []

    def serve(*before: str, **variables: str) -> Served:
        port = variables.setdefault("PORT", str(free_port()))
        process = subprocess.Popen(
            [*before, *COMMAND, "serve", "--allow-superuser"],
            cwd=folder,
            env=environment(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(Served(process, f"http://127.0.0.1:{port}"))
        return started[-1].await_ready()

    yield serve
    for service in started:
        with service.process:
            service.process.terminate()
            service.process.wait(HUNG_AFTER)


@pytest.fixture(scope="session")
def forks() -> Iterator[Commands]:
    commands = Commands(ROOT)
    yield commands
    commands.end()


@pytest.fixture
def tenantry(forks: Commands, tmp_path: Path) -> Tenantry:
    def run(*arguments: str, stdin: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        return forks.run(arguments, tmp_path, environment(variables), stdin, timeout=HUNG_AFTER)

    return run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this project, built once for all workers: whoever comes first builds it, the others wait."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "wheel"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
            subprocess.run([*build, "-w", str(folder), str(ROOT)], check=True, timeout=HUNG_AFTER)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture
async def shared(servers: tuple[str, str], empty_database: NewDatabase) -> dict[str, str]:
    """Settings that name servers, with a database that is still empty."""
    return settings_of(await empty_database(), servers[1])


@pytest.fixture
async def migrated(servers: tuple[str, str], new_database: NewDatabase) -> dict[str, str]:
    """Settings that name servers, with a database that has all migrations, so that the start has none to apply."""
    return settings_of(await new_database(), servers[1])


@pytest.fixture(scope="module")
async def module_migrated(servers: tuple[str, str], new_database: NewDatabase) -> dict[str, str]:
    """``migrated`` for a service that all tests of a file share."""
    return settings_of(await new_database(), servers[1])


FEED = """
from msgspec import Struct
from tenantry import entity


@entity("postings", changes=True)
class Posting(Struct, rename="camel", kw_only=True):
    title: str


ENTITIES = (Posting,)
"""


@pytest.fixture
def followed(tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """``migrated`` with ``postings``, an entity that has a feed."""
    (tmp_path / "postings.py").write_text(FEED, "utf-8")
    settings = {**migrated, "ENTITIES": "tenantry.catalogue,postings.py"}
    for arguments in (("migrate", "--write", "postings"), ("migrate",)):
        ended = tenantry(*arguments, **settings)
        assert ended.returncode == 0, ended.stderr
    return settings


def settings_of(database_url: str, redis_url: str) -> dict[str, str]:
    return {
        "DATABASE_URL": database_url,
        "DATABASE_CONNECTIONS": "6",
        "REDIS_URL": redis_url,
        "SECRET_KEY": "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD",
        "ADMIN_PASSWORD": PASSWORD,
        "RATE_LIMITS": "count",  # other tests may count in the same Redis
    }
