"""Files at full size: 1,000,000 products out and 100,000 in, against a bare COPY in the same run.

``python -m benchmarks.files [ROWS]``; nothing else should run on the machine meanwhile.
"""

import argparse
import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from uuid import UUID

import asyncpg
import httpx

from benchmarks.bench_data import Size
from benchmarks.databases import Database, database, servers
from benchmarks.people import token
from benchmarks.processes import resident_mib, tree
from benchmarks.rows import fill
from benchmarks.servers import ADMIN_EMAIL, ADMIN_PASSWORD, Server, service

T = TypeVar("T")

NAME = "tenantry_bench_files"
IMPORTED = 100_000
SHEET_ROWS = 100_000
COLUMNS = (
    "id, name, sku, description, price, stock, status, category_id, released_at, photo_id, created_at, updated_at, "
    "created_by, updated_by, is_deleted, deleted_at, deleted_by, version"
)


@dataclass
class Client:
    server: Server
    tenant: UUID
    bearer: str

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.bearer}"}

    async def export(self, form: str, query: str = "") -> tuple[float, float, int]:
        """Seconds to the first byte and to the last, and the number of bytes."""
        path = f"/api/products/export?format={form}{query}"
        reader, writer = await asyncio.open_connection("127.0.0.1", self.server.port, limit=2**22)
        started, size, end = time.perf_counter(), 0, b""
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.bearer}", "", ""]
        writer.write("\r\n".join(lines).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        await reader.readuntil(b"\r\n")
        first = time.perf_counter() - started
        while not end.endswith(b"\r\n0\r\n\r\n"):
            piece = await reader.read(2**20)
            assert piece, "broken off"
            size += len(piece)
            end = (end + piece)[-16:]
        writer.close()
        return first, time.perf_counter() - started, size

    async def import_(self, file: bytes) -> dict[str, object]:
        async with httpx.AsyncClient(timeout=600) as client:
            url = f"{self.server.address}/api/products/import"
            answer = await client.post(url, headers=self.headers(), files={"file": ("products.csv", file)})
        assert answer.status_code == 200, answer.text
        data: dict[str, object] = answer.json()["data"]
        return data

    async def me(self, until: asyncio.Event) -> list[float]:
        """Milliseconds of sequential requests of GET /api/auth/me."""
        times = []
        async with httpx.AsyncClient(timeout=60, headers=self.headers()) as client:
            while not until.is_set():
                started = time.perf_counter()
                (await client.get(f"{self.server.address}/api/auth/me")).raise_for_status()
                times.append((time.perf_counter() - started) * 1e3)
                await asyncio.sleep(0.005)
        return times


async def bare_copy(url: str, tenant: UUID) -> float:
    size = 0

    async def take(piece: bytes) -> None:
        nonlocal size
        size += len(piece)

    connection = await asyncpg.connect(url, server_settings={"tenantry.scope": "every"})
    started = time.perf_counter()
    text = f"SELECT {COLUMNS} FROM products WHERE tenant_id = '{tenant}' AND NOT is_deleted"
    await connection.copy_from_query(f"{text} ORDER BY created_at DESC, id DESC", output=take, format="csv")
    took = time.perf_counter() - started
    await connection.close()
    return took


@dataclass
class Watched:
    """Growth of the server's processes in memory: of the largest one, and of all together."""

    server: Server

    async def during(self, work: Callable[[], Awaitable[T]]) -> tuple[T, float, float]:
        root = pid_of(self.server)
        before = resident_mib(tree(root))
        known = set(tree(root))
        peak, others, over = before, 0.0, asyncio.Event()

        async def watch() -> None:
            nonlocal peak, others
            while not over.is_set():
                peak = max(peak, resident_mib(known))
                others = max(others, sum(resident_mib([pid]) for pid in set(tree(root)) - known))
                await asyncio.sleep(0.02)

        watching = asyncio.create_task(watch())
        answer = await work()
        over.set()
        await watching
        return answer, peak - before, others


def pid_of(server: Server) -> int:
    return server._process.pid  # noqa: SLF001  # nobody else asks


def sheet(category: UUID) -> bytes:
    lines = [b"name,sku,description,price,stock,status,categoryId,releasedAt\r\n"]
    lines += [
        f'Product {n},B-F-{n},"A thing, made of iron {n}",{n % 1000}.{n % 100:02d},{n % 50},live,{category},'
        f"2026-11-20T12:00:00Z\r\n".encode()
        for n in range(IMPORTED)
    ]
    return b"".join(lines)


async def exports(client: Client, url: str, rows: int) -> None:
    watched = Watched(client.server)
    await client.export("csv", "&sku=none")
    for _ in range(3):
        bare = await bare_copy(url, client.tenant)
        print(f"bare COPY              {bare:6.2f} s  {rows / bare:10,.0f} rows/s")
        for form in ("csv", "json"):
            seen, growth, _ = await watched.during(partial(client.export, form))
            first, took, size = seen
            print(
                f"export {form:4}  {took:6.2f} s  {rows / took:10,.0f} rows/s  {bare / took:4.0%} of bare  "
                f"first byte {first * 1e3:4.0f} ms  grew {growth:5.1f} MiB  {size / 2**20:.0f} MiB"
            )


async def workbook(client: Client, rows: int) -> None:
    limit = f"&createdBefore={time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(1700000000 + SHEET_ROWS))}"
    seen, growth, others = await Watched(client.server).during(lambda: client.export("xlsx", limit))
    _, took, _size = seen
    print(
        f"export xlsx of {min(rows, SHEET_ROWS):,}: {took:.2f} s, grew {growth:.1f} MiB, its process {others:.0f} MiB"
    )


async def imports(client: Client, connection: Database) -> None:
    category = await connection.connection.fetchval("SELECT id FROM categories WHERE tenant_id = $1", client.tenant)
    file = sheet(category)
    for _ in range(3):
        over = asyncio.Event()
        asking = asyncio.create_task(client.me(over))
        started = time.perf_counter()
        answer, growth, others = await Watched(client.server).during(lambda: client.import_(file))
        took = time.perf_counter() - started
        over.set()
        times = sorted(await asking)
        print(
            f"import {IMPORTED:,}: {took:.2f} s  {IMPORTED / took:,.0f} rows/s  grew {growth:.1f} MiB, its process "
            f"{others:.0f} MiB  me p50 {times[len(times) // 2]:.1f} p99 {times[int(len(times) * 0.99)]:.1f} ms  "
            f"{answer}"
        )
        await connection.connection.execute("DELETE FROM products WHERE sku LIKE 'B-F-%'", timeout=600)


async def run(rows: int) -> None:
    async with servers() as (database_url, redis_url), database(database_url, NAME) as made:
        with service(made.url, redis_url) as server:
            for pid in tree(pid_of(server)):
                os.sched_setaffinity(pid, range(os.cpu_count() or 1))
            client = sign_in(server)
            await fill(made.connection, [client.tenant], Size(rows=rows, tenants=1))
            await exports(client, made.url, rows)
            await workbook(client, rows)
            await imports(client, made)


def sign_in(server: Server) -> Client:
    with httpx.Client(base_url=server.address, timeout=30.0) as client:
        admin = token(client, ADMIN_EMAIL, ADMIN_PASSWORD)
        headers = {"Authorization": f"Bearer {admin}"}
        body = {"name": "Files", "identifier": "files"}
        tenant = client.post("/api/tenants", json=body, headers=headers).json()["data"]["id"]
        inside = client.post("/api/auth/switch-tenant", json={"tenantId": tenant}, headers=headers).json()["data"]
    return Client(server, UUID(tenant), inside["token"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.files", description="Files at their full size.")
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000, help="products that the exports carry")
    asyncio.run(run(parser.parse_args().rows))
