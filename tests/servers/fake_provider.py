"""A social provider on this machine, with prepared answers and a record of its requests."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    parameters: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Said:
    """A prepared answer; with ``silent`` the connection stays open without one."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    silent: bool = False
    megabytes: int = 0


Reply = Callable[[Asked], Said]


@dataclass
class FakeProvider:
    url: str = ""
    replies: dict[str, Reply | Said] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    sent: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                asked = await _read(line.decode(), reader)
                self.asked.append(asked)
                await self._answer(self._said(asked), reader, writer)
        except ConnectionError:
            pass
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def _said(self, asked: Asked) -> Said:
        reply = self.replies.get(asked.path, Said(404, {"error": "not found"}))
        return reply if isinstance(reply, Said) else reply(asked)

    async def _answer(self, said: Said, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if said.silent:
            await reader.read()
            return
        body = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
        length = said.megabytes * 1_000_000 or len(body)
        headers = {"Content-Type": "application/json", "Content-Length": str(length), **said.headers}
        lines = [f"HTTP/1.1 {said.status} Said", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        if not said.megabytes:
            writer.write(body)
        for _ in range(said.megabytes * 10):
            writer.write(b" " * 100_000)
            await writer.drain()
            self.sent += 100_000
        await writer.drain()


async def _read(line: str, reader: asyncio.StreamReader) -> Asked:
    method, target, _ = line.split(" ")
    headers: dict[str, str] = {}
    while (header := (await reader.readline()).decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    parts = urlsplit(target)
    return Asked(method, parts.path, dict(parse_qsl(parts.query)), headers, body)


@asynccontextmanager
async def fake_provider(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakeProvider]:
    provider = FakeProvider()
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0, ssl=tls)
    scheme = "http" if tls is None else "https"
    provider.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield provider
    server.close()
