"""A receiver of webhooks on this machine: it stores what arrives, and answers as a test says."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Mood = Literal["answers", "hangs", "resets", "floods", "lies about the length", "talks nonsense", "trickles"]


@dataclass(frozen=True)
class Arrived:
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Receiver:
    """``mood`` is how every request is answered; ``released`` ends requests that hang."""

    url: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    mood: Mood = "answers"
    arrived: list[Arrived] = field(default_factory=list)
    connections: int = 0
    answer: Callable[[Arrived], int] | None = None
    released: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while line := await reader.readline():
                arrived = await _read(line.decode(), reader)
                self.arrived.append(arrived)
                if not await self._answer(arrived, writer):
                    break
        except ConnectionError:
            pass
        finally:
            writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await writer.wait_closed()

    async def _answer(self, arrived: Arrived, writer: asyncio.StreamWriter) -> bool:
        """Answer, and return whether the connection stays open."""
        status = self.status if self.answer is None else self.answer(arrived)
        match self.mood:
            case "hangs":
                await self.released.wait()
            case "resets":
                writer.transport.abort()
                return False
            case "talks nonsense":
                writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
                return False
            case "lies about the length":
                writer.write(_head(status, self.headers, 1_000) + b"short")
                return False
            case "floods" | "trickles":
                await self._flood(status, writer)
                return False
        writer.write(_head(status, self.headers, 2) + b"ok")
        await writer.drain()
        return True

    async def _flood(self, status: int, writer: asyncio.StreamWriter) -> None:
        writer.write(_head(status, self.headers, 1_000_000_000))
        if self.mood == "trickles":
            await self.released.wait()
        for _ in range(10_000):
            writer.write(b" " * 100_000)
            await writer.drain()


def _head(status: int, headers: Mapping[str, str], length: int) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", f"Content-Length: {length}"]
    return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in headers.items()), "", ""]).encode()


async def _read(line: str, reader: asyncio.StreamReader) -> Arrived:
    _, path, _ = line.split(" ")
    headers: dict[str, str] = {}
    while (header := (await reader.readline()).decode().strip()) != "":
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    return Arrived(path, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


@asynccontextmanager
async def receiver(tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[Receiver]:
    opened = Receiver()
    server = await asyncio.start_server(opened.serve, host, 0, ssl=tls)
    scheme = "http" if tls is None else "https"
    opened.url = f"{scheme}://{host}:{server.sockets[0].getsockname()[1]}"
    try:
        yield opened
    finally:
        opened.released.set()
        server.close()


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Return the contexts of a server with a certificate for the name and 127.0.0.1, and of clients that trust it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(
        subject, subject, key.public_key(), x509.random_serial_number(), now, now + timedelta(1)
    )
    names = [x509.DNSName(name), x509.IPAddress(ip_address("127.0.0.1"))]
    made = made.add_extension(x509.SubjectAlternativeName(names), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    public = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "both.pem").write_bytes(private + public)
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(folder / "both.pem")
    return serving, ssl.create_default_context(cadata=public.decode())
