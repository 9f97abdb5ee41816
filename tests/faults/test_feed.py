"""The feed while PostgreSQL is killed, a disk is full or a clock is set back: one entry for each version, in order."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.entrypoints.conftest import FEED
from tests.entrypoints.processes import COMMAND, PASSWORD, Answer, Served, environment
from tests.faults.postgres_server import PostgresServer
from tests.faults.rig import RECOVERED_WITHIN, Process, variables_of
from tests.faults.test_clock import JumpingClock
from tests.faults.test_full_disk import disk, fill
from tests.servers.redis_servers import RedisServer

__all__ = ["disk"]
pytestmark = [pytest.mark.timeout(180), pytest.mark.long]


@contextmanager
def followed(folder: Path, variables: Mapping[str, str], command: Sequence[str] = COMMAND) -> Iterator[Process]:
    """A service with postings, an entity that has a feed."""
    (folder / "postings.py").write_text(FEED, "utf-8")
    settings = {"LOG_LEVEL": "warning", **variables, "ENTITIES": "postings.py"}
    for arguments in (("migrate", "--write", "postings"), ("migrate",)):
        subprocess.run([*COMMAND, *arguments], cwd=folder, env=environment(settings), check=True, capture_output=True)
    process = Process(folder, settings, command)
    process.start()
    yield process
    process.kill()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[tuple[PostgresServer, dict[str, str]]]:
    (tmp_path / "postgres").mkdir()
    postgres, redis = PostgresServer(tmp_path / "postgres"), RedisServer(tmp_path)
    postgres.start()
    redis.start()
    yield postgres, variables_of(postgres, postgres.port, redis.port)
    redis.kill()
    postgres.close()


class Client:
    """Writes postings and reads the feed as the administrator."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.token = served.log_in(PASSWORD)
        self.start: str = self.get("/api/changes")["cursor"]

    def call(self, method: str, path: str, body: object = None) -> Answer:
        try:
            return self.served.call(method, path, body, self.token)
        except OSError:
            return Answer(0, None)

    def get(self, path: str) -> Any:
        answer = self.call("GET", path)
        assert answer.status == 200, answer
        return answer.body["data"]

    def post(self, *titles: str) -> Answer:
        return self.call("POST", "/api/postings/batch", {"items": [{"title": title} for title in titles]})

    def entries(self, count: int) -> list[Any]:
        """All entries, once there are ``count``."""
        found, after = list[Any](), self.start
        while len(found) < count:
            page = self.get(f"/api/changes?limit=1000&wait=5&after={after}")
            found += page["items"]
            after = page["cursor"]
        return found

    def rows(self) -> dict[str, int]:
        """Versions of all postings."""
        found = dict[str, int]()
        for page in itertools.count(1):
            data = self.get(f"/api/postings?pageSize=100&sort=createdAt&page={page}")
            found |= {row["id"]: row["version"] for row in data["items"]}
            if not data["hasNextPage"]:
                return found
        raise AssertionError


async def until(holds: Callable[[], bool]) -> float:
    """Seconds until it holds."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    while not await asyncio.to_thread(holds):
        assert loop.time() - began < 60
    return loop.time() - began


def ensure_complete(client: Client, answers: Mapping[str, Answer]) -> None:
    """Each stored version has one entry, in order, and each write that was answered is stored."""
    rows = client.rows()
    entries = client.entries(sum(rows.values()))
    versions = dict[str, int]()
    for entry in entries:
        assert entry["version"] == versions.get(entry["id"], 0) + 1, entry
        versions[entry["id"]] = entry["version"]
    assert versions == rows
    titles = {entry["data"]["title"] for entry in entries}
    assert {title for title, answer in answers.items() if answer.status in (200, 201)} <= titles


@pytest.mark.promise("security, faults: PostgreSQL restarted and a full disk lose no entry of the feed, and add none")
async def test_a_restarted_postgresql_loses_no_entry(
    servers: tuple[PostgresServer, dict[str, str]], tmp_path: Path
) -> None:
    postgres, variables = servers
    with followed(tmp_path, variables) as process:
        client, answers, is_over = Client(process.served), dict[str, Answer](), False

        async def write(name: str) -> None:
            for number in itertools.count():
                if is_over:
                    return
                title = f"{name} {number}"
                answers[title] = await asyncio.to_thread(client.post, title, *(f"{title}-{n}" for n in range(20)))
                if (made := answers[title].body) and answers[title].status == 200 and number % 2:
                    row_id = made["data"]["items"][0]["id"]
                    await asyncio.to_thread(
                        client.call, "PUT", f"/api/postings/{row_id}", {"title": f"{title}, changed"}
                    )

        writers = [asyncio.create_task(write(f"writer {number}")) for number in range(4)]
        for how in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
            before = len(answers)
            await until(lambda before=before: len(answers) > before + 20)  # type: ignore[misc]
            await asyncio.to_thread(postgres.end, how)
            await asyncio.to_thread(postgres.start)
            await until(lambda: client.post("probe").status == 200)
        is_over = True
        await asyncio.gather(*writers)
        assert {answer.status for answer in answers.values()} <= {0, 200, 503}
        assert any(answer.status == 503 for answer in answers.values())
        await asyncio.to_thread(ensure_complete, client, answers)


@pytest.mark.promise("security, faults: PostgreSQL restarted and a full disk lose no entry of the feed, and add none")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")
async def test_a_full_disk_loses_no_entry(disk: Path) -> None:  # a fixture
    variables = {"DATA_DIR": str(disk / "data"), "ADMIN_PASSWORD": PASSWORD, "RATE_LIMITS": "count"}
    with followed(disk.parent, variables) as process:
        client, answers = Client(process.served), dict[str, Answer]()
        filler = fill(disk)

        def store(name: str) -> Answer:
            answers[name] = client.post(name, *(f"{name} {'x' * 9_000} {number}" for number in range(50)))
            return answers[name]

        for number in range(150):
            await asyncio.to_thread(store, f"posting {number}")
        assert 503 in {answer.status for answer in answers.values()} <= {200, 503}
        filler.unlink()
        assert await until(lambda: store("room again").status == 200) < RECOVERED_WITHIN
        await asyncio.to_thread(ensure_complete, client, answers)


@pytest.fixture
def jumping(tmp_path: Path) -> JumpingClock:
    return JumpingClock(tmp_path)


async def test_a_clock_that_is_set_back_reorders_nothing(
    servers: tuple[PostgresServer, dict[str, str]], jumping: JumpingClock, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "tests.faults.jumping_service", str(jumping.file)]
    with followed(tmp_path, servers[1], command) as process:
        client = Client(process.served)
        for number, distance in enumerate(("+0", "-3600", "-3600", "+0")):
            jumping.stand(distance)
            assert client.post(f"posting {number}").status == 200
        entries = client.entries(4)
        assert [entry["data"]["title"] for entry in entries] == [f"posting {number}" for number in range(4)]
        assert entries[1]["at"] < entries[0]["at"] < entries[3]["at"]
        ensure_complete(client, {})
