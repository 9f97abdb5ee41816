"""The service and its peers, each with the same rows, ready to be measured."""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import httpx
from argon2 import PasswordHasher

from benchmarks import people, rows
from benchmarks.bench_data import PASSWORD, BenchData, Size, User
from benchmarks.databases import Database, as_role, database, login_role
from benchmarks.failures import BenchmarkFailed
from benchmarks.peers import pocketbase
from benchmarks.peers.dialect import ALCHEMY, DRF, FASTCRUD, POCKETBASE, SERVICE, Dialect, value_at
from benchmarks.peers.operations import login
from benchmarks.peers.stores import PostgresStore, SqliteStore, Store, make_tables
from benchmarks.servers import Server, running, service

APPS = Path(__file__).parent / "apps"
ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv" / "peers" / "bin"
SECRET = "a secret for benchmarks only, which guards nothing"


@dataclass(frozen=True)
class App:
    """A peer written in Python: how it is served, the scheme of its database's address, what its hashes begin with."""

    name: str
    dialect: Dialect
    command: Sequence[str]
    scheme: str = "postgresql+asyncpg"
    hash_prefix: str = ""
    ready_path: str = "/"


GRANIAN = "granian --interface asgi --loop uvloop --no-ws --workers 1 --backpressure 1024 --backlog 2048"
UVICORN = "uvicorn --host 127.0.0.1 --port {port} --no-access-log --log-level warning --loop uvloop --http httptools"
GUNICORN = "gunicorn --bind 127.0.0.1:{port} --workers 1 --worker-class gthread --threads 8 --keep-alive 75"

APPS_ON_POSTGRES = (
    App("FastCRUD", FASTCRUD, [*UVICORN.split(), "fastcrud_app:app"]),
    App("Django REST framework", DRF, [*GUNICORN.split(), "drf.wsgi"], "postgresql", "argon2"),
    App("advanced-alchemy", ALCHEMY, [*GRANIAN.split(), "--log-level", "warning", "alchemy_app:app"]),
)
ROLE = "tenantry_bench_beside"
"""Role of the service, held by row-level security as in production."""

SERVICE_NAME, POCKETBASE_NAME = "Tenantry", "PocketBase"
NAMES = (SERVICE_NAME, *(app.name for app in APPS_ON_POSTGRES), POCKETBASE_NAME)


@dataclass(frozen=True)
class Peer:
    """A running server with its dialect, its rows and a token of each user."""

    name: str
    dialect: Dialect
    server: Server
    store: Store
    tokens: Mapping[UUID, str]


@dataclass(frozen=True)
class Field:
    """Everything that a measurement needs: the peers, ids for the load, and a connection to the service's rows."""

    peers: Sequence[Peer]
    data: BenchData
    rows: asyncpg.Connection


def ensure_local(*urls: str) -> None:
    """Refuses the addresses of other machines, whose data a run would replace."""
    for url in urls:
        host = urlsplit(url).hostname
        if host not in (None, "127.0.0.1", "localhost", "::1"):
            raise BenchmarkFailed(f"{host} is another machine: the servers of a run are on this one.")


def ensure_installed() -> Path | None:
    """PocketBase's program, None where there is none. Raises BenchmarkFailed without the peers' environment."""
    if not (ENVIRONMENT / "uvicorn").exists():
        raise BenchmarkFailed("The peers are not installed: `make bench-peers` does that.")
    named = os.environ.get("POCKETBASE")
    if named and not Path(named).is_file():
        raise BenchmarkFailed(f"POCKETBASE={named} is no file.")
    program = Path(named) if named else ENVIRONMENT / "pocketbase"
    return program if program.is_file() else None


@asynccontextmanager
async def started(database_url: str, redis_url: str, size: Size, names: Sequence[str]) -> AsyncIterator[Field]:
    """The named peers and the service, filled; everything is stopped and dropped at the end."""
    program = ensure_installed()
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(login_role(database_url, ROLE))
        own = await stack.enter_async_context(database(database_url, "tenantry_bench_beside"))
        serving = stack.enter_context(service(as_role(own.url, ROLE), redis_url, owner_url=own.url))
        users = people.make_people(serving, size.tenants)
        await rows.fill(own.connection, _tenants(users), size)
        data = await rows.sample(own.connection, users, size)
        peers = [Peer(SERVICE_NAME, SERVICE, serving, PostgresStore(own), _tokens(serving, SERVICE, users))]
        for app in APPS_ON_POSTGRES:
            if app.name in names:
                name = f"tenantry_bench_{app.name.split()[0].lower().replace('-', '_')}"
                kept = await stack.enter_async_context(database(database_url, name))
                peers.append(await _start_app(stack, app, kept, users, size))
        if POCKETBASE_NAME in names and program is not None:
            peers.append(await _start_pocketbase(stack, program, users, own.connection))
        yield Field(peers, data, own.connection)


async def _start_app(stack: AsyncExitStack, app: App, kept: Database, users: Sequence[User], size: Size) -> Peer:
    hashed = PasswordHasher(memory_cost=19_456, time_cost=2, parallelism=1).hash(PASSWORD)
    await make_tables(kept, users, app.hash_prefix + hashed)
    await rows.fill(kept.connection, _tenants(users), size)
    settings = {
        "PEER_SECRET": SECRET,
        "PEER_DATABASE_URL": kept.url.replace("postgresql", app.scheme, 1),
        "DJANGO_SETTINGS_MODULE": "drf.settings",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [str(ENVIRONMENT / app.command[0]), *app.command[1:]]
    server = stack.enter_context(running(app.name, command, settings, APPS))
    server.await_ready(app.ready_path)
    return Peer(app.name, app.dialect, server, PostgresStore(kept), _tokens(server, app.dialect, users))


async def _start_pocketbase(
    stack: AsyncExitStack, program: Path, users: Sequence[User], copied: asyncpg.Connection
) -> Peer:
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="tenantry-bench-", ignore_cleanup_errors=True)))
    server = stack.enter_context(pocketbase.pocketbase(program, folder))
    await pocketbase.fill(server, folder, users, copied)
    store = SqliteStore(pocketbase.file_in(folder))
    stack.callback(store.close)
    return Peer(POCKETBASE_NAME, POCKETBASE, server, store, _tokens(server, POCKETBASE, users))


def _tenants(users: Sequence[User]) -> list[UUID]:
    return list(dict.fromkeys(user.tenant_id for user in users))


def _tokens(server: Server, dialect: Dialect, users: Sequence[User]) -> dict[UUID, str]:
    with httpx.Client(base_url=server.address, timeout=60.0) as client:
        return {user.id: _token(client, server, dialect, user) for user in users}


def _token(client: httpx.Client, server: Server, dialect: Dialect, user: User) -> str:
    asked = login(dialect, user.email)
    answer = client.post(asked.path, content=asked.body, headers={"Content-Type": asked.content_type})
    token = value_at(answer.json(), dialect.token) if answer.is_success else None
    if token is None:
        raise BenchmarkFailed(
            f"{server.name}: a login answered {answer.status_code} {answer.text[:300]}\n{server.last_words()}"
        )
    return str(token)
