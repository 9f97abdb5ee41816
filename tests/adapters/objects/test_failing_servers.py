"""Servers that fail: each use of the store ends with an error, soon, and reads are never taken for whole."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.objects.address import StoreAddress
from adapters.objects.remote import RemoteStore, StoreKey
from application.ports.entities.attachments import StoreUnavailable

CONTENT = bytes(1_000_000)
HEAD = (
    b'HTTP/1.1 200 OK\r\nETag: "a"\r\nLast-Modified: Sat, 28 Nov 2026 07:00:00 GMT\r\nContent-Length: 1000000\r\n\r\n'
)
ERROR = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
PATIENCE = timedelta(seconds=1)

Answer = Callable[[asyncio.StreamWriter], None]


def hang(writer: asyncio.StreamWriter) -> None:
    """Answer nothing."""


def hang_late(writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + CONTENT[:900_000])


def cut(writer: asyncio.StreamWriter) -> None:
    hang_late(writer)
    writer.close()


def fail(writer: asyncio.StreamWriter) -> None:
    writer.write(ERROR)
    writer.close()


@asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[RemoteStore]:
    open_writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_writers.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        answer(writer)

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    address = StoreAddress(service="s3", bucket="photos", endpoint=f"http://127.0.0.1:{port}")
    try:
        yield RemoteStore(address, StoreKey("key-id", "secret"), PATIENCE)
    finally:
        server.close()
        for writer in open_writers:
            writer.close()


async def read(store: RemoteStore, length: int | None = None) -> None:
    async with store.open("a", 0, length) as pieces:
        async for _ in pieces:
            pass


async def put(store: RemoteStore, path: Path) -> None:
    await store.put("a", path, "image/png")


@pytest.mark.parametrize("answer", [hang, hang_late, cut, fail])
@pytest.mark.parametrize("length", [None, 1_000_000])
async def test_a_read_that_cannot_end_is_an_error(answer: Answer, length: int | None) -> None:
    begun = time.monotonic()
    async with served(answer) as store:
        with pytest.raises(StoreUnavailable):
            await read(store, length)
    assert time.monotonic() - begun < 15


@pytest.mark.parametrize("answer", [hang, fail])
async def test_writes_and_lists_that_cannot_end_are_errors(answer: Answer, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"content")
    async with served(answer) as store:
        with pytest.raises(StoreUnavailable):
            await put(store, tmp_path / "a")
        with pytest.raises(StoreUnavailable):
            await store.delete(["a"])
        with pytest.raises(StoreUnavailable):
            await store.ensure_available()
        with pytest.raises(StoreUnavailable):
            [found async for found in store.keys("")]


async def test_fewer_bytes_than_a_range_has_are_an_error() -> None:
    def short(writer: asyncio.StreamWriter) -> None:
        head = b'HTTP/1.1 206 Partial\r\nETag: "a"\r\nLast-Modified: Sat, 28 Nov 2026 07:00:00 GMT\r\n'
        writer.write(head + b"Content-Range: bytes 0-4/5\r\nContent-Length: 5\r\n\r\n12345")

    async with served(short) as store:
        with pytest.raises(StoreUnavailable):
            await read(store, 10)


async def test_a_server_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"content")
    address = StoreAddress(service="s3", bucket="photos", endpoint="http://127.0.0.1:9")
    store = RemoteStore(address, StoreKey("key-id", "secret"), PATIENCE)
    with pytest.raises(StoreUnavailable):
        await put(store, tmp_path / "a")
    assert "secret" not in repr(store)
