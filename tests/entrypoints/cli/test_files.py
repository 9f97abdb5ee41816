"""Files cut off at any moment: by a client that leaves, a database that breaks, a service that is killed."""

import asyncio
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest

from tests.entrypoints.processes import PASSWORD, Serve, Served, Tenantry, descendants, eventually, is_gone
from tests.waiting import HUNG_AFTER

CUTS = int(os.environ.get("TENANTRY_TEST_CUTS", "6"))
"""How often each kind of transfer is cut off; `make stress` asks for 1,000."""

STORED = 40_000
FILE = b"name,sku,price,description\r\n" + b"".join(
    b"Lamp %d,CUT-%d,1.50,%s\r\n" % (n, n, b"long " * 40) for n in range(5_000)
)
BOUNDARY = "cut"
END = b"\r\n0\r\n\r\n"

pytestmark = pytest.mark.timeout(300 + 10 * CUTS)


@dataclass
class Service:
    variables: dict[str, str]
    served: Served
    token: str
    owner: "asyncpg.Connection[asyncpg.Record]"

    async def open(self, head: str, body: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        url = urlsplit(self.served.url)
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        lines = [head, "Host: localhost", f"Authorization: Bearer {self.token}"]
        if body:
            lines += [f"Content-Length: {len(body)}", f"Content-Type: multipart/form-data; boundary={BOUNDARY}"]
        writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        return reader, writer

    async def busy(self) -> int:
        """Statements under way, and transactions left open, of the service."""
        found: int = await self.owner.fetchval(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend' AND state <> 'idle'"
        )
        return found

    async def imported(self) -> int:
        found: int = await self.owner.fetchval("SELECT count(*) FROM products WHERE sku LIKE 'CUT-%'")
        return found

    async def forget(self) -> None:
        """Vacuumed, for a thousand times 5,000 dead rows make every look at the table slow."""
        await self.owner.execute("DELETE FROM products WHERE sku LIKE 'CUT-%'")
        await self.owner.execute("VACUUM products")


@pytest.fixture(scope="module")
async def running(module_serve: Serve, module_migrated: dict[str, str]) -> AsyncIterator[Service]:
    async with started(module_serve, module_migrated) as service:
        yield service


@pytest.fixture
async def service(running: Service) -> Service:
    """The service that the tests of this file share, without what others have imported."""
    await running.forget()
    return running


@asynccontextmanager
async def started(serve: Serve, variables: dict[str, str]) -> AsyncIterator[Service]:
    """A service with 40,000 products."""
    served = serve(**variables)
    assert served.process.stdout is not None
    reading = threading.Thread(target=served.process.stdout.read, daemon=True)  # what nobody reads stops the service
    reading.start()
    body = {"email": "admin@example.com", "password": PASSWORD, "isPasswordEncrypted": False}
    async with httpx.AsyncClient() as client:
        answer = (await client.post(f"{served.url}/api/auth/login", json=body)).json()["data"]
    owner = await asyncpg.connect(variables["DATABASE_URL"], server_settings={"tenantry.scope": "every"})
    await owner.execute(
        "INSERT INTO products (tenant_id, id, name, sku, description, price, created_at, updated_at, version) "
        "SELECT $1, gen_random_uuid(), 'Lamp', 'SKU-' || n, repeat('long ', 100), 1, now(), now(), 1 "
        f"FROM generate_series(1, {STORED}) n",
        answer["currentTenant"]["id"],
    )
    yield Service(variables, served, answer["token"], owner)
    await owner.close()


async def becomes(holds: Callable[[], Awaitable[bool]], within: float = HUNG_AFTER) -> None:
    deadline = time.monotonic() + within
    while not await holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)  # each look is a query


def form() -> bytes:
    return form_of(FILE)


def form_of(file: bytes) -> bytes:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    return head.encode() + file + f"\r\n--{BOUNDARY}--\r\n".encode()


async def everything(reader: asyncio.StreamReader) -> bytes:
    pieces = b""
    try:
        while piece := await reader.read(2**20):
            pieces = pieces[-64:] + piece
            if pieces.endswith(END):
                break
    except ConnectionError:
        pass
    return pieces


@pytest.mark.promise(
    "files, transfers: an export whose client leaves before the first byte stops, as rows, as the count of an xlsx, "
    "and as an import"
)
async def test_a_client_that_leaves_stops_the_query(service: Service) -> None:
    for path in ("csv", "json"):
        reader, writer = await service.open(f"GET /api/products/export?format={path} HTTP/1.1")
        await reader.read(1000)
        assert await service.busy() == 1
        writer.transport.abort()

        async def is_quiet() -> bool:
            return await service.busy() == 0

        await becomes(is_quiet)


@pytest.mark.promise("files, hostile files: a worker ends with its client, and with its service")
@pytest.mark.promise(
    "files, transfers: an export whose client leaves before the first byte stops, as rows, as the count of an xlsx, "
    "and as an import"
)
@pytest.mark.parametrize("form", ["csv", "xlsx", "import"])
async def test_a_client_that_leaves_before_the_first_byte_stops_the_query(service: Service, form: str) -> None:
    """The table is locked, so that no row and no count can come."""

    async def is_busy() -> bool:
        return await service.busy() == 2  # the lock's transaction among them

    async def is_quiet() -> bool:
        return await service.busy() == 1 and not workers(service)

    # Not by the owner's connection: within a transaction the server's statistics stand still.
    locking = await asyncpg.connect(service.variables["DATABASE_URL"])
    await locking.execute("BEGIN; LOCK TABLE products IN ACCESS EXCLUSIVE MODE")
    try:
        if form == "import":
            _, writer = await service.open("POST /api/products/import HTTP/1.1", form_of(FILE))
        else:
            _, writer = await service.open(f"GET /api/products/export?format={form} HTTP/1.1")
        await becomes(is_busy)
        writer.transport.abort()
        await becomes(is_quiet, 8)  # a lock is waited for ten seconds
    finally:
        await locking.close()


@pytest.mark.promise(
    "files, transfers: Exports and imports cut off anywhere leave nothing between (make stress: 1,000)"
)
async def test_an_export_interrupted_by_the_database_ends_with_an_error(service: Service) -> None:
    reader, writer = await service.open("GET /api/products/export HTTP/1.1")
    await reader.read(1000)
    await service.owner.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND pid <> pg_backend_pid()"
    )
    assert not (await everything(reader)).endswith(END)
    writer.close()
    reader, writer = await service.open("GET /api/products/export HTTP/1.1")
    assert (await everything(reader)).endswith(END)
    writer.close()


@pytest.mark.promise(
    "files, transfers: Exports and imports cut off anywhere leave nothing between (make stress: 1,000)"
)
async def test_exports_and_imports_cut_off_anywhere_leave_nothing_between(service: Service) -> None:
    chance = random.Random(5)
    sent = form()
    for _ in range(CUTS):
        form_ = chance.choice(("csv", "json", "xlsx"))
        _, writer = await service.open(f"GET /api/products/export?format={form_}&search=SKU-1 HTTP/1.1")
        await asyncio.sleep(chance.random() * 0.3)
        writer.transport.abort()
        _, writer = await service.open("POST /api/products/import HTTP/1.1", sent)
        await asyncio.sleep(chance.random() * 0.6)
        writer.transport.abort()

        async def is_over() -> bool:
            return await service.busy() == 0 and not workers(service) and not left_behind()

        await becomes(is_over, 60)
        assert await service.imported() in (0, 5_000)
        await service.forget()


def left_behind() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob("tenantry-sheet-*"))


def workers(service: Service) -> list[int]:
    return [pid for pid in descendants(service.served.process.pid) if "adapters.sheets" in command(pid)]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.promise("files, hostile files: a worker ends with its client, and with its service")
async def test_killing_a_service_ends_its_workers(serve: Serve, migrated: dict[str, str]) -> None:
    async with started(serve, migrated) as service:
        _, writer = await service.open("POST /api/products/import HTTP/1.1", form())

        async def is_reading() -> bool:
            return bool(workers(service))

        await becomes(is_reading)
        found = [*workers(service), *descendants(service.served.process.pid)]
        os.killpg(service.served.process.pid, signal.SIGKILL)
        eventually(lambda: all(map(is_gone, found)))
        writer.close()

        async def is_quiet() -> bool:
            return await service.busy() == 0

        await becomes(is_quiet)
        assert await service.imported() in (0, 5_000)


@pytest.mark.promise("files, Parquet: the command line exports and imports by the same rules")
async def test_the_command_line_exports_and_imports_by_the_same_rules(
    service: Service, tenantry: Tenantry, tmp_path: Path
) -> None:
    shared = service.variables
    (tmp_path / "in.csv").write_bytes(b"name,sku,price\r\nLamp,CUT-1,1.5\r\nCup,bad,1\r\n")
    dry = tenantry("import", "products", "in.csv", "--tenant", "system", "--dry-run", **shared)
    assert "1 rows would be imported, 0 skipped, 1 with errors." in dry.stdout + dry.stderr
    assert await service.imported() == 0
    done = tenantry("import", "products", "in.csv", "--tenant", "system", **shared)
    assert done.returncode == 1
    assert "row 3: sku" in done.stderr
    assert await service.imported() == 1
    (tmp_path / "de.csv").write_bytes("Bericht\r\nname;sku;price\r\nGröße;CUT-2;1.250,50\r\n".encode("cp1252"))
    asked = ["import", "products", "de.csv", "--tenant", "system"]
    dry = tenantry(*asked, "--dry-run", "--header-row", "2", **shared)
    assert "The file seems to need --encoding windows-1252, --decimal ,." in dry.stdout + dry.stderr
    assert "--header-row 2." in (dry := tenantry(*asked, "--dry-run", **shared)).stdout + dry.stderr
    options = ("--header-row", "2", "--encoding", "windows-1252", "--decimal", ",", "--date-format", "DD.MM.YYYY")
    assert tenantry(*asked, *options, **shared).returncode == 0
    for ending in ("csv", "json", "xlsx"):
        out = tenantry(
            "export", "products", "--tenant", "system", "--out", f"out.{ending}", "--where", "sku=CUT-1", **shared
        )
        assert out.returncode == 0, out.stderr
        assert (tmp_path / f"out.{ending}").stat().st_size > 100
    rows: list[dict[str, Any]] = json.loads((tmp_path / "out.json").read_bytes())
    assert [(row["sku"], row["createdBy"]) for row in rows] == [("CUT-1", None)]
    refused = tenantry("export", "prodcuts", "--tenant", "system", "--out", "x", **shared)
    assert refused.returncode == 1
    assert "products" in refused.stderr
