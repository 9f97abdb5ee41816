"""A proxy before PostgreSQL that cuts its connections, refuses new ones, or falls silent."""

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit, urlunsplit


class CuttingProxy:
    """Listens on a free port, which it keeps; ``url`` leads through it to the database of the URL that it is given."""

    def __init__(self, url: str) -> None:
        self._target = urlsplit(url)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows = asyncio.Event()
        self._stranded: list[asyncio.Event] = []
        self._port = 0
        self._flows.set()

    async def __aenter__(self) -> Self:
        await self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()

    @property
    def url(self) -> str:
        user = f"{self._target.username}@" if self._target.username else ""
        if self._target.username and self._target.password:
            user = f"{self._target.username}:{self._target.password}@"
        return urlunsplit(("postgresql", f"{user}127.0.0.1:{self._port}", self._target.path, "", ""))

    def cut(self) -> None:
        """Ends every connection, and refuses new ones."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        for flows in (self._flows, *self._stranded):
            flows.set()

    def pause(self) -> None:
        """Connections stay open, and nothing goes through."""
        self._flows.clear()

    def strand(self) -> None:
        """Connections stay open and nothing goes through, as if their server were switched off; new ones work."""
        self._flows.clear()
        self._stranded.append(self._flows)
        self._flows = asyncio.Event()
        self._flows.set()

    async def resume(self) -> None:
        self._flows.set()
        await self._listen()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = self._target.hostname or parse_qs(self._target.query).get("host", [""])[0]
        port = self._target.port or 5432
        if host.startswith("/"):
            there, back = await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        else:
            there, back = await asyncio.open_connection(host, port)
        self._writers |= {writer, back}
        flows = self._flows
        with suppress(OSError):
            await asyncio.gather(self._pass_on(reader, back, flows), self._pass_on(there, writer, flows))
        for line in (writer, back):
            self._writers.discard(line)
            line.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flows: asyncio.Event) -> None:
        while piece := await reader.read(65_536):
            await flows.wait()
            writer.write(piece)
            await writer.drain()
        writer.transport.abort()
