"""Backups and restores that are killed or told to end at work: what was there is there, nothing unfinished is left."""

import os
import signal
import subprocess
from asyncio import sleep
from pathlib import Path

import asyncpg
import pytest

from tests.entrypoints.processes import COMMAND, Tenantry, environment, free_port
from tests.waiting import HUNG_AFTER

pytestmark = pytest.mark.end_to_end  # it starts processes of its own

_WAITS = """
SELECT EXISTS (SELECT FROM pg_stat_activity
WHERE datname = current_database() AND application_name = $1 AND wait_event_type = 'Lock')"""
_IS_THERE = """
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1)"""


async def becomes(url: str, asked: str, program: str, *, holds: bool) -> None:
    # a connection of its own: in a transaction the server's view of its sessions stands still
    connection = await asyncpg.connect(url)
    for _ in range(int(min(HUNG_AFTER, 40) * 100)):
        if await connection.fetchval(asked, program) == holds:
            await connection.close()
            return
        await sleep(0.01)  # between two questions: a loop without a pause would take a core
    raise AssertionError(f"{program} does not come so far")


def started(folder: Path, *arguments: str, **variables: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=environment(variables),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def names_in(folder: Path) -> list[str]:
    return [path.name.partition("-")[0] for path in folder.iterdir()]


async def test_a_restore_that_is_killed_at_work_is_undone(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    assert tenantry("create-admin", "root@example.com", **migrated).returncode == 0
    assert tenantry("backup", "first", **migrated).returncode == 0
    assert tenantry("create-admin", "late@example.com", **migrated).returncode == 0

    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    lock = connection.transaction()
    await lock.start()
    await connection.execute("LOCK TABLE pg_index IN SHARE MODE")  # to set aside what is there makes no index
    with started(tmp_path, "restore", "first", "--replace", **migrated) as process:
        try:
            await becomes(migrated["DATABASE_URL"], _WAITS, "pg_restore", holds=True)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    await lock.rollback()
    await becomes(migrated["DATABASE_URL"], _IS_THERE, "pg_restore", holds=False)
    assert await connection.fetchval("SELECT to_regnamespace('tenantry_before_restore') IS NOT NULL")
    await connection.close()

    assert "tenantry restore --undo" in tenantry("check", **migrated).stdout
    refused = tenantry("serve", **migrated, PORT=str(free_port()))
    assert (refused.returncode, "tenantry restore --undo" in refused.stderr) == (5, True), refused.stderr
    undone = tenantry("restore", "--undo", **migrated)
    assert undone.returncode == 0, undone.stderr
    listed = tenantry("users", "list", **migrated).stdout
    assert "root@example.com" in listed
    assert "late@example.com" in listed
    assert tenantry("check", **migrated).returncode == 0


async def test_a_terminated_backup_leaves_no_folder(migrated: dict[str, str], tmp_path: Path) -> None:
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    async with connection.transaction():
        await connection.execute("LOCK TABLE products")
        with started(tmp_path, "backup", "first", **migrated) as process:
            try:
                await becomes(migrated["DATABASE_URL"], _WAITS, "pg_dump", holds=True)
                assert names_in(tmp_path) == ["first.unfinished"]
                process.send_signal(signal.SIGTERM)
                assert process.wait(HUNG_AFTER) == 128 + signal.SIGTERM
            finally:
                process.kill()
    await connection.close()
    assert names_in(tmp_path) == []
