"""The disk of an embedded service full: 503 while it lasts, and what was answered is there when there is room again."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.processes import PASSWORD, Answer, Served
from tests.faults.rig import RECOVERED_WITHIN, Process

ROOM = 300
"""MiB of the file system that is filled."""

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.long,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system"),
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    tmp_path.chmod(0o755)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOM}m,mode=755", "tmpfs", str(folder)], check=False
    )
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def process(disk: Path) -> Iterator[Process]:
    variables = {"DATA_DIR": str(disk / "data"), "ADMIN_PASSWORD": PASSWORD, "RATE_LIMITS": "count"}
    process = Process(disk.parent, {**variables, "LOG_LEVEL": "warning"})
    process.start()
    yield process
    process.kill()


@pytest.fixture
def two_workers(disk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    """A service with its data elsewhere, and its temporary files on the disk."""
    monkeypatch.setenv("TMPDIR", str(disk))
    variables = {"DATA_DIR": str(disk.parent / "data"), "ADMIN_PASSWORD": PASSWORD, "RATE_LIMITS": "count"}
    process = Process(disk.parent, {**variables, "WORKERS": "2", "LOG_LEVEL": "warning"})
    process.start()
    yield process
    process.kill()


def fill(disk: Path) -> Path:
    """Takes all room that there is."""
    file = disk / "filler"
    with file.open("wb", buffering=0) as open_:
        for piece in (2**20, 2**12):
            try:
                while True:
                    open_.write(b"\0" * piece)
            except OSError:
                pass
    return file


def stored(served: Served, token: str, number: int) -> Answer:
    items = [{"name": "Lamp", "sku": f"F-{number}-{n}", "price": 1, "description": "x" * 9_000} for n in range(100)]
    return served.call("POST", "/api/products/batch", {"items": items}, token)


@pytest.mark.promise("security, faults: a full disk is an outage of the embedded service; its end needs no restart")
async def test_a_full_disk_is_an_outage_and_its_end_needs_no_restart(disk: Path, process: Process) -> None:
    served = process.served
    token = served.log_in(PASSWORD)
    assert stored(served, token, 0).status == 200
    filler, answers = fill(disk), {}
    for number in range(1, 120):
        answers[number] = await asyncio.to_thread(stored, served, token, number)
    assert 503 in {answer.status for answer in answers.values()} <= {200, 503}
    filler.unlink()

    async def works() -> bool:
        number = max(answers) + 1
        answers[number] = await asyncio.to_thread(stored, served, token, number)
        return answers[number].status == 200

    loop = asyncio.get_running_loop()
    began = loop.time()
    while not await works():
        assert loop.time() - began < 60, process.said[-20:]
    assert loop.time() - began < RECOVERED_WITHIN
    for number, answer in answers.items():
        found = served.call("GET", f"/api/products?sku.startsWith=F-{number}-&pageSize=1", token=token)
        count = found.body["data"]["totalCount"]
        assert count == 100 or (count == 0 and answer.status == 503)


async def test_workers_continue_when_temporary_files_have_no_space(disk: Path, two_workers: Process) -> None:
    served = two_workers.served
    token = served.log_in(PASSWORD)
    fill(disk)
    # each operation and status is counted in a place of its own
    for path in ("users", "roles", "permissions", "tenants", "products", "categories", "reviews", "currencies"):
        for _ in range(4):
            assert served.call("GET", f"/api/{path}", token=token).status == 200
            assert served.call("PUT", f"/api/{path}/batch", {"items": 1}, token).status in (400, 404, 405)
            assert served.call("DELETE", f"/api/{path}/{'0' * 36}", token=token).status in (400, 404)
    assert not [line for line in two_workers.said if "Unexpected exit" in line]
