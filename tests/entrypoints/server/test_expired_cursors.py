"""Cursors that no longer fit the log: after a restore, and after a partition was dropped."""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import asyncpg
import pytest

from tests.conftest import NewDatabase
from tests.entrypoints.processes import PASSWORD, Serve, Served, Tenantry, eventually
from tests.waiting import HUNG_AFTER


def feed(served: Served, token: str, after: str | None = None) -> Any:
    query = "" if after is None else f"?after={after}"
    answer = served.call("GET", f"/api/changes{query}", token=token)
    return (answer.status, answer.body["error"]["code"]) if answer.status != 200 else answer.body["data"]


def stream(served: Served, token: str, after: str) -> Any:
    """The status and the code of a stream that is refused."""
    answer = served.call("GET", f"/api/changes/stream?after={after}", token=token)
    return answer.status, answer.body["error"]["code"]


def followed_to(served: Served, token: str, after: str, count: int) -> list[Any]:
    """The next items of the feed, once there are ``count``."""
    found: list[Any] = []

    def has_all() -> bool:
        found[:] = feed(served, token, after)["items"]
        return len(found) >= count

    eventually(has_all)
    return found


def post(served: Served, token: str, title: str) -> None:
    assert served.call("POST", "/api/postings", {"title": title}, token).status == 201


def moved(cursor: str, by: int) -> str:
    epoch, own, shared = urlsafe_b64decode(cursor + "==").decode().split(".")
    return urlsafe_b64encode(f"{epoch}.{int(own) + by}.{shared}".encode()).rstrip(b"=").decode()


@pytest.mark.promise(
    "entities, changes: after a restore, older cursors answer 410, and new entries after the restore are read"
)
async def test_cursors_expire_after_a_restore(
    serve: Serve, tenantry: Tenantry, followed: dict[str, str], empty_database: NewDatabase
) -> None:
    served = await asyncio.to_thread(serve, **followed)
    token = await asyncio.to_thread(served.log_in, PASSWORD)
    start = (await asyncio.to_thread(feed, served, token))["cursor"]
    post(served, token, "before the backup")
    await asyncio.to_thread(followed_to, served, token, start, 1)
    cursor = feed(served, token)["cursor"]
    assert feed(served, token, moved(cursor, 1)) == (400, "BAD_REQUEST")
    made = await asyncio.to_thread(tenantry, "backup", "first", **followed)
    assert made.returncode == 0, made.stderr
    post(served, token, "lost")
    served.process.terminate()
    served.process.wait(HUNG_AFTER)

    other = {**followed, "DATABASE_URL": await empty_database()}
    restored = await asyncio.to_thread(tenantry, "restore", "first", **other)
    assert restored.returncode == 0, restored.stderr
    again = await asyncio.to_thread(serve, **other)
    token = await asyncio.to_thread(again.log_in, PASSWORD)
    for old in (start, cursor):
        assert feed(again, token, old) == stream(again, token, old) == (410, "CURSOR_EXPIRED")
    new = feed(again, token)["cursor"]
    post(again, token, "after the restore")
    (item,) = await asyncio.to_thread(followed_to, again, token, new, 1)
    assert item["data"]["title"] == "after the restore"


async def test_cursors_expire_with_a_dropped_partition(serve: Serve, followed: dict[str, str]) -> None:
    served = await asyncio.to_thread(serve, **followed)
    token = await asyncio.to_thread(served.log_in, PASSWORD)
    start = feed(served, token)["cursor"]
    post(served, token, "dropped")
    await asyncio.to_thread(followed_to, served, token, start, 1)
    head = feed(served, token)["cursor"]
    connection = await asyncpg.connect(followed["DATABASE_URL"])
    part = await connection.fetchval("SELECT tableoid::regclass::text FROM changes LIMIT 1")
    await connection.execute(f"DROP TABLE {part}")
    await connection.close()
    assert feed(served, token, start) == stream(served, token, start) == (410, "CURSOR_EXPIRED")
    assert feed(served, token, head)["items"] == []
    assert feed(served, token)["cursor"] == head
