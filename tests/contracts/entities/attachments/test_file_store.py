"""Stores of files: each object is durable, whole, and reachable by its own key only."""

import asyncio
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from adapters.memory.entities.attachments.objects import MemoryFileStore
from adapters.objects.disk import DiskStore
from application.ports.entities.attachments import PIECE, FileStore, ObjectMissing, StoredObject, StoreUnavailable
from domain.entities.attachments.keys import file_key
from domain.entities.attachments.names import content_disposition
from tests.builders import new_id
from tests.faults.full_disk import full_after
from tests.servers.s3_server import NAMED, Bucket, named_bucket, s3_server

NOW = datetime(2026, 11, 28, 7, tzinfo=UTC)
TENANTS = (UUID(int=1), UUID(int=2))
CONTENT = bytes(range(256)) * 4096
"""1 MiB: four pieces."""


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with s3_server() as bucket:
        yield bucket


@pytest.fixture(params=["memory", "disk", "s3", *(["named"] if NAMED else [])])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> FileStore:
    match request.param:
        case "memory":
            return MemoryFileStore()
        case "disk":
            return DiskStore(tmp_path / "files")
    bucket: Bucket = request.getfixturevalue("bucket") if request.param == "s3" else named_bucket(NAMED or "")
    return bucket.store(prefix=f"files/{uuid4()}")


@pytest.fixture(params=TENANTS, ids=["a tenant", "another tenant"])
def tenant(request: pytest.FixtureRequest) -> UUID:
    found: UUID = request.param
    return found


@pytest.fixture
def key(tenant: UUID) -> str:
    return file_key(tenant, new_id(), NOW)


@pytest.fixture
def others(tenant: UUID, key: str) -> str:
    """The key of the same file in the other tenant."""
    other = next(found for found in TENANTS if found != tenant)
    return key.replace(str(tenant), str(other))


@pytest.fixture
def put(tmp_path: Path, store: FileStore) -> "Put":
    return Put(store, tmp_path / "upload")


class Put:
    """Stores contents, which a store reads from a file."""

    def __init__(self, store: FileStore, path: Path) -> None:
        self.store, self.path = store, path

    async def __call__(self, key: str, content: bytes = CONTENT) -> None:
        self.path.write_bytes(content)
        await self.store.put(key, self.path, "application/pdf")
        self.path.unlink()


async def read(store: FileStore, key: str, start: int = 0, length: int | None = None) -> bytes:
    async with store.open(key, start, length) as pieces:
        return b"".join([piece async for piece in pieces])


async def listed(store: FileStore, folder: str) -> list[StoredObject]:
    return sorted([found async for found in store.keys(folder)], key=lambda found: found.key)


async def test_an_object_is_read_whole_and_in_bounded_pieces(store: FileStore, put: Put, key: str, others: str) -> None:
    await put(key)
    async with store.open(key) as pieces:
        sizes = [len(piece) async for piece in pieces]
    assert sum(sizes) == len(CONTENT)
    assert max(sizes) <= PIECE
    assert await read(store, key) == CONTENT
    with pytest.raises(ObjectMissing):
        await read(store, others)


@pytest.mark.parametrize(
    ("start", "length"),
    [(0, 1), (255, 2), (PIECE - 1, PIECE + 2), (len(CONTENT) - 1, 1)],
)
async def test_a_range_has_exactly_its_bytes(store: FileStore, put: Put, key: str, start: int, length: int) -> None:
    await put(key)
    assert await read(store, key, start, length) == CONTENT[start : start + length]


@pytest.mark.parametrize("start", [0, 5, PIECE, len(CONTENT) - 1])
async def test_a_range_without_length_goes_to_the_end(store: FileStore, put: Put, key: str, start: int) -> None:
    await put(key)
    assert await read(store, key, start) == CONTENT[start:]


async def test_an_object_that_ends_within_a_range_is_an_error(store: FileStore, put: Put, key: str) -> None:
    await put(key, b"12345")
    with pytest.raises(StoreUnavailable):
        await read(store, key, 3, 3)


async def test_an_empty_object_has_no_pieces(store: FileStore, put: Put, key: str) -> None:
    await put(key, b"")
    assert await read(store, key) == b""
    assert await listed(store, "") == [StoredObject(key, 0)]


async def test_a_store_that_works_is_available(store: FileStore, put: Put, key: str) -> None:
    await store.ensure_available()
    await put(key)
    await store.ensure_available()


async def test_a_folder_that_cannot_be_written_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "files").write_bytes(b"a file in place of the folder")
    with pytest.raises(StoreUnavailable):
        await DiskStore(tmp_path / "files").ensure_available()
    with pytest.raises(StoreUnavailable):
        await MemoryFileStore(is_away=True).ensure_available()


async def test_an_absent_object_is_missing_before_the_first_piece(store: FileStore, key: str) -> None:
    with pytest.raises(ObjectMissing):
        async with store.open(key):
            pytest.fail("was opened")


async def test_a_transfer_that_stops_early_leaves_the_object(store: FileStore, put: Put, key: str) -> None:
    await put(key)
    async with store.open(key) as pieces:
        assert CONTENT.startswith(await anext(aiter(pieces)))
    assert await read(store, key) == CONTENT


async def test_a_second_put_replaces_the_object(store: FileStore, put: Put, key: str, others: str) -> None:
    await put(key, b"before")
    await put(others, b"other")
    await put(key, b"after")
    assert (await read(store, key), await read(store, others)) == (b"after", b"other")


async def test_an_open_object_stays_whole_while_it_is_replaced(store: FileStore, put: Put, key: str) -> None:
    await put(key)
    async with store.open(key) as pieces:
        first = await anext(aiter(pieces))
        await put(key, b"\xff" * len(CONTENT))
        rest = [piece async for piece in pieces]
    assert first + b"".join(rest) == CONTENT


async def test_a_deleted_object_is_gone_and_no_other(store: FileStore, put: Put, key: str, others: str) -> None:
    await put(key)
    await put(others, b"other")
    await put(f"{key}.small", b"small")
    await store.delete([key, f"{key}.card", f"{key}.small"])
    assert await listed(store, "") == [StoredObject(others, 5)]
    with pytest.raises(ObjectMissing):
        await read(store, key)


async def test_absent_objects_can_be_deleted(store: FileStore, key: str) -> None:
    await store.delete([key])
    await store.delete([key, key])
    await store.delete([])


async def test_a_tenant_s_folder_lists_the_tenant_s_objects(
    store: FileStore, put: Put, tenant: UUID, key: str, others: str
) -> None:
    earlier = file_key(tenant, new_id(), datetime(2025, 1, 2, tzinfo=UTC))
    await put(key, b"1")
    await put(earlier, b"12")
    await put(others, b"123")
    assert await listed(store, str(tenant)) == [StoredObject(earlier, 2), StoredObject(key, 1)]
    assert await listed(store, f"{tenant}/2025") == [StoredObject(earlier, 2)]
    assert {found.key for found in await listed(store, "")} == {key, earlier, others}
    # A folder is a whole part of a key: the id of no tenant is the begin of another one's.
    assert await listed(store, str(tenant)[:-1]) == []


BAD_KEYS = ["", "/", "..", "../x", "a/../b", "a//b", "/a", "a/", ".a", "a/.b", "a\\b", "a\0", "a\n", "ä", "a" * 513]


@pytest.mark.parametrize("bad", BAD_KEYS)
async def test_a_key_names_nothing_outside_of_the_store(store: FileStore, put: Put, bad: str) -> None:
    with pytest.raises(ValueError, match="is not a key"):
        await put(bad)
    with pytest.raises(ValueError, match="is not a key"):
        await read(store, bad)
    with pytest.raises(ValueError, match="is not a key"):
        await store.delete([bad])
    if bad:
        with pytest.raises(ValueError, match="is not a key"):
            await listed(store, bad)


async def test_a_link_of_a_store_with_urls_has_type_and_disposition(store: FileStore, put: Put, key: str) -> None:
    await put(key, b"content")
    disposition = content_disposition("attachment", "Über 1.pdf")
    link = await store.link(key, lifetime=timedelta(minutes=1), media_type="text/plain", disposition=disposition)
    if link is None:
        return
    async with httpx.AsyncClient() as client:
        answer = await client.get(link)
        changed = await client.get(link.replace("text%2Fplain", "text%2Fhtml"))
    assert (answer.status_code, answer.content) == (200, b"content")
    assert answer.headers["content-type"].partition(";")[0] == "text/plain"
    assert answer.headers["content-disposition"] == disposition
    # moto does not check signatures.
    assert changed.status_code == 403 or changed.headers["server"].startswith("Werkzeug")


async def test_parallel_puts_of_a_key_leave_one_whole_object(store: FileStore, tmp_path: Path, key: str) -> None:
    contents = [bytes([n]) * (2 * PIECE) for n in range(8)]
    for n, content in enumerate(contents):
        (tmp_path / str(n)).write_bytes(content)
    await asyncio.gather(*[store.put(key, tmp_path / str(n), "image/png") for n in range(8)])
    assert await read(store, key) in contents
    assert await listed(store, "") == [StoredObject(key, 2 * PIECE)]


class TestDisk:
    """What only a folder can show."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        return tmp_path / "files"

    async def test_other_accounts_can_read_nothing(self, folder: Path, tmp_path: Path) -> None:
        store = DiskStore(folder)
        await Put(store, tmp_path / "upload")("a/b/c")
        assert modes(folder) == {"files": "0o700", ".writing": "0o700", "a": "0o700", "b": "0o700", "c": "0o600"}

    async def test_a_full_disk_is_unavailable_and_leaves_nothing(self, folder: Path, tmp_path: Path) -> None:
        store, put = DiskStore(folder), Put(DiskStore(folder), tmp_path / "upload")
        await put("a/b", b"before")
        put.path.write_bytes(CONTENT)
        with full_after(PIECE), pytest.raises(StoreUnavailable):
            await store.put("a/b", put.path, "image/png")
        assert await read(store, "a/b") == b"before"
        assert list(modes(folder)) == ["files", ".writing", "a", "b"]

    async def test_a_folder_that_cannot_be_used_is_unavailable(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        store = DiskStore(tmp_path / "file")
        with pytest.raises(StoreUnavailable):
            await Put(store, tmp_path / "upload")("a/b")

    async def test_what_a_killed_process_left_is_deleted_and_never_listed(self, folder: Path, tmp_path: Path) -> None:
        put = Put(DiskStore(folder), tmp_path / "upload")
        await put("a/b")
        old, new = folder / ".writing" / "old", folder / ".writing" / "new"
        for path, age in ((old, 7200), (new, 60)):
            path.write_bytes(b"half")
            change_age(path, age)
        store = DiskStore(folder)
        assert await listed(store, "") == [StoredObject("a/b", len(CONTENT))]
        await Put(store, tmp_path / "upload")("a/c")
        assert (old.exists(), new.exists()) == (False, True)


def modes(folder: Path) -> dict[str, str]:
    """Names and access modes of the folder and everything in it."""
    return {path.name: oct(path.stat().st_mode & 0o777) for path in (folder, *sorted(folder.rglob("*")))}


def change_age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


async def test_an_unreachable_memory_store_is_unavailable(tmp_path: Path) -> None:
    store = MemoryFileStore(is_away=True)
    for act in (Put(store, tmp_path / "upload")("a"), read(store, "a"), store.delete(["a"]), listed(store, "")):
        with pytest.raises(StoreUnavailable):
            await act
