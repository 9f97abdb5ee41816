"""Processes that are replaced one after the other under traffic."""

import asyncio
import signal
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from tests.entrypoints.processes import PASSWORD, Serve, Served
from tests.waiting import until

CHECKED_EVERY = 0.2
DRAINS_FOR = 2
READY_WITHIN = 120.0
"""Seconds: a start takes some seconds of CPU, of which the traffic leaves little on a machine of two cores."""
PAUSE = 0.05
"""Seconds between the requests of a worker: as many as fit would keep the new process from its start."""


@dataclass
class Balancer:
    """Sends each request to the next process that was ready at the last look, over connections that are kept."""

    clients: dict[str, httpx.AsyncClient] = field(default_factory=dict)
    ready: list[str] = field(default_factory=list)
    sent: int = 0

    async def look(self) -> None:
        while True:
            for url, client in self.clients.items():
                is_ready = await self._is_ready(client)
                if is_ready != (url in self.ready):
                    self.ready = [other for other in self.ready if other != url] + [url] * is_ready
            await asyncio.sleep(CHECKED_EVERY)

    async def _is_ready(self, client: httpx.AsyncClient) -> bool:
        try:
            return (await client.get("/health/ready", timeout=1)).status_code == 200
        except httpx.HTTPError:
            return False

    async def send(self, method: str, path: str, **more: Any) -> httpx.Response:
        self.sent += 1
        url = self.ready[self.sent % len(self.ready)]
        return await self.clients[url].request(method, path, timeout=20, **more)

    async def until(self, url: str, *, ready: bool) -> None:
        async with asyncio.timeout(READY_WITHIN):
            while (url in self.ready) != ready:  # noqa: ASYNC110  # nobody tells
                await asyncio.sleep(0.05)


async def traffic(balancer: Balancer, token: str, worker: int, made: list[str]) -> None:
    """Rows, each read back; a lost request raises."""
    headers = {"Authorization": f"Bearer {token}"}
    for number in range(100_000):
        await asyncio.sleep(PAUSE)
        row = {"name": f"Lamp {number}", "sku": f"L-{worker}-{number}", "price": 1}
        answer = await balancer.send("POST", "/api/products", json=row, headers=headers)
        assert answer.status_code == 201, answer.text
        made.append(answer.json()["data"]["id"])
        read = await balancer.send("GET", f"/api/products/{made[-1]}", headers=headers)
        assert read.status_code == 200, read.text


@pytest.mark.promise("scale, growth: Processes are replaced one after the other under traffic, and no request is lost")
@pytest.mark.long
async def test_no_request_is_lost_while_processes_are_replaced(serve: Serve, shared: dict[str, str]) -> None:
    settings = {**shared, "ADMIN_PASSWORD": PASSWORD, "RATE_LIMITS": "off", "DRAIN_SECONDS": str(DRAINS_FOR)}
    settings["BASE_URL"] = "http://127.0.0.1:8000"  # the issuer of both
    settings["LOG_LEVEL"] = "warning"  # nobody reads what they say about each request
    services: list[Served] = [await asyncio.to_thread(serve, **settings) for _ in range(2)]
    token = services[0].log_in(PASSWORD)
    balancer, made = Balancer(), list[str]()
    for service in services:
        balancer.clients[service.url] = httpx.AsyncClient(base_url=service.url)
    async with asyncio.TaskGroup() as group:
        looking = group.create_task(balancer.look())
        for service in services:
            await balancer.until(service.url, ready=True)
        workers = [group.create_task(traffic(balancer, token, worker, made)) for worker in range(3)]
        for service in services:
            before = len(made)
            assert await asyncio.to_thread(service.end, signal.SIGTERM) == 0
            await balancer.until(service.url, ready=False)
            await asyncio.to_thread(serve, **settings, PORT=str(urlsplit(service.url).port))
            await balancer.until(service.url, ready=True)
            assert len(made) > before
        for task in (looking, *workers):
            task.cancel()
    for client in balancer.clients.values():
        await client.aclose()
    answer = services[0].call("GET", "/api/products?pageSize=1", token=token)
    assert answer.body["data"]["totalCount"] >= len(made)


async def test_a_draining_service_answers_and_says_that_it_is_not_ready(serve: Serve, shared: dict[str, str]) -> None:
    service = await asyncio.to_thread(serve, **{**shared, "DRAIN_SECONDS": "60"})
    async with httpx.AsyncClient(base_url=service.url) as client:
        assert "connection" not in (await client.get("/health/ready")).headers
        service.process.send_signal(signal.SIGTERM)

        async def status() -> int:
            return (await client.get("/health/ready")).status_code

        await until(status, 503)
        # the first such answer may be that of a request which began before
        told = await client.get("/health/ready")
        assert (told.status_code, told.json()["status"], told.headers["connection"]) == (503, "draining", "close")
        assert (await client.get("/health/live")).status_code == 200
    # a second signal does not wait any longer
    assert await asyncio.to_thread(service.end, signal.SIGTERM) == 0
