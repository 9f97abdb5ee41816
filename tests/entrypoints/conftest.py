"""The command line in processes that end with the test."""

import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.databases import create_database, drop_database
from tests.entrypoints.forks import Commands
from tests.entrypoints.processes import COMMAND, PASSWORD, ROOT, Serve, Served, Tenantry, environment, free_port


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts ``tenantry serve`` on a free port, and waits until it says that it serves."""
    started: list[Served] = []

    def serve(**variables: str) -> Served:
        port = variables.setdefault("PORT", str(free_port()))
        process = subprocess.Popen(
            [*COMMAND, "serve"],
            cwd=tmp_path,
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
            service.process.wait(40)


@pytest.fixture(scope="session")
def commands() -> Iterator[Commands]:
    commands = Commands(ROOT)
    yield commands
    commands.end()


@pytest.fixture
def tenantry(commands: Commands, tmp_path: Path) -> Tenantry:
    def run(*arguments: str, stdin: str = "", **variables: str) -> "subprocess.CompletedProcess[str]":
        return commands.run(arguments, tmp_path, environment(variables), stdin, timeout=50)

    return run


@pytest.fixture
async def shared(servers: tuple[str, str]) -> AsyncIterator[dict[str, str]]:
    """Settings that name servers, with a database that is still empty."""
    database_url = await create_database(servers[0], f"tenantry_serve_{uuid4().hex[:12]}")
    yield {
        "DATABASE_URL": database_url,
        "DATABASE_CONNECTIONS": "6",
        "REDIS_URL": servers[1],
        "SECRET_KEY": "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD",
        "ADMIN_PASSWORD": PASSWORD,
        "RATE_LIMITS": "count",  # other tests may count in the same Redis
    }
    await drop_database(database_url)
