"""Processes that are killed at each step of a file's life: after housekeeping, contents and entries agree."""

import os
import random
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from adapters.objects.disk import DiskStore
from adapters.postgres.database import PostgresDatabase
from adapters.system import Uuid7Ids
from application.entities.attachments.consistency import FileConsistency
from tests.conftest import NewDatabase
from tests.contracts.entities.attachments.conftest import EVERY, Desk, with_tables
from tests.contracts.entities.attachments.entities import REGISTRY
from tests.contracts.entities.attachments.killed_process import AGED, removal_of

KILLS = int(os.environ.get("TENANTRY_TEST_KILLS", "6"))
ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
async def url(empty_database: NewDatabase, tmp_path: Path) -> str:
    (tmp_path / "migrations").mkdir()
    return await with_tables(await empty_database(), tmp_path / "migrations")


@pytest.fixture
async def database(url: str) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(url, REGISTRY, Uuid7Ids(), connections=2)
    await opened.open()
    yield opened
    await opened.close()


class Process:
    """The process of ``killed_process``."""

    def __init__(self, url: str, folder: Path) -> None:
        command = [sys.executable, "-m", "tests.contracts.entities.attachments.killed_process", url, str(folder)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, kind: str, value: float) -> list[str]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{kind} {value}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def end(self) -> None:
        with self.process:
            self.process.kill()


@pytest.fixture
def process(url: str, tmp_path: Path) -> Iterator[Process]:
    process = Process(url, tmp_path / "files")
    yield process
    process.end()


@pytest.mark.timeout(3_600)
@pytest.mark.promise("security, faults: a killed process leaves no content without an entry, and no row without its")
async def test_after_a_kill_at_any_step_contents_and_entries_agree(
    database: PostgresDatabase, process: Process, tmp_path: Path
) -> None:
    store, desk = DiskStore(tmp_path / "files"), Desk(database)
    removal, consistency = removal_of(database, store, desk), FileConsistency(database, store, desk.clock)
    desk.clock.move(2 * AGED)
    answer, count = process.run("step", 0)
    assert answer == "done"
    steps = int(count)
    assert steps > 40
    killed = 0
    for number in range(KILLS):
        # Half of the kills come between two steps.
        at = ("time", round(random.uniform(0.01, 0.3), 4)) if number % 2 else ("step", 1 + number * steps // KILLS)
        (told, *_) = process.run(*at)
        assert told in ("killed", "done"), at
        killed += told == "killed"
        while await removal.remove():
            pass
        found = await consistency.compare(digests=True)
        assert found.is_consistent, (at, found)
        assert (found.unknown, found.foreign) == ([], []), at
    assert killed >= KILLS // 2
    assert process.run("step", 0)[0] == "done"
    while await removal.remove():
        pass
    keys = {stored.key async for stored in store.keys("")}
    async with database.read_only(EVERY) as read:
        files = await read.unused_files.page(None, 100_000)
    assert {file.state for file in files} == {"held"}
    assert len(files) == len(keys) >= 2
