"""Two processes of the service on one database and one Redis, each with its own wire to Redis, which can be cut."""

import socket
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import httpx

from tests.entrypoints.processes import COMMAND, PASSWORD, Served, environment, free_port
from tests.servers.redis_servers import RedisServer
from tests.waiting import HUNG_AFTER

ADMIN = "admin@example.com"
JsonObject = dict[str, Any]


class Wire:
    """A way to a server on this machine, in threads of its own; cut, it refuses, and what was open is closed.

    ``delay`` are seconds that each piece takes in either direction; ``target`` is the port of the server.
    """

    def __init__(self, port: int) -> None:
        self.target, self.delay = port, 0.0
        self._open: set[socket.socket] = set()
        self._is_cut = False
        self._turn = threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        with self._turn:
            self._is_cut = True
            for line in self._open:
                _end(line)

    def mend(self) -> None:
        with self._turn:
            self._is_cut = False

    def close(self) -> None:
        self.cut()
        _end(self._server)
        for thread in self._threads:
            thread.join(5)
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            with self._turn:
                if self._is_cut or (far := self._reach()) is None:
                    near.close()
                    continue
                self._open |= {near, far}
            for source, other in ((near, far), (far, near)):
                self._threads.append(threading.Thread(target=self._carry, args=(source, other), daemon=True))
                self._threads[-1].start()

    def _reach(self) -> socket.socket | None:
        try:
            return socket.create_connection(("127.0.0.1", self.target), timeout=None)
        except OSError:
            return None

    def _carry(self, near: socket.socket, other: socket.socket) -> None:
        """Each of the two threads of a connection closes the end that it reads from."""
        with suppress(OSError):
            while data := near.recv(65_536):
                if self.delay:
                    time.sleep(self.delay)
                other.sendall(data)
        _end(other)
        with self._turn:
            self._open.discard(near)
        near.close()


def _end(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)


@contextmanager
def served(folder: Path, variables: dict[str, str]) -> Iterator[Served]:
    port = str(free_port())
    process = subprocess.Popen(
        [*COMMAND, "serve", "--allow-superuser"],
        cwd=folder,
        env=environment({**variables, "PORT": port}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with process:
        try:
            yield Served(process, f"http://127.0.0.1:{port}").await_ready()
        finally:
            process.kill()
            process.wait(HUNG_AFTER)


ADDRESSES = cycle(f"198.18.0.{number}" for number in range(1, 61))
"""Addresses of clients that name none: as many as the limits of an address need, and each is known after a login."""


class Client:
    """One of the two, as clients of many kinds reach it."""

    def __init__(self, served: Served, client: httpx.AsyncClient) -> None:
        self.served = served
        self.client = client

    async def call(
        self, method: str, path: str, body: object = None, token: str | None = None, address: str | None = None
    ) -> httpx.Response:
        headers = {"X-Forwarded-For": address or next(ADDRESSES)}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return await self.client.request(method, path, json=body, headers=headers)

    async def try_login(self, email: str, password: str = PASSWORD, address: str | None = None) -> httpx.Response:
        body = {"email": email, "password": password, "isPasswordEncrypted": False}
        return await self.call("POST", "/api/auth/login", body, address=address)

    async def log_in(self, email: str = ADMIN) -> JsonObject:
        return await self._data(await self.try_login(email), 200)

    async def enter(self, token: str, tenant_id: str) -> str:
        answer = await self.call("POST", "/api/auth/switch-tenant", {"tenantId": tenant_id}, token)
        entered: str = (await self._data(answer, 200))["token"]
        return entered

    async def make(self, path: str, body: object, token: str) -> JsonObject:
        return await self._data(await self.call("POST", path, body, token), 201)

    async def make_user(self, token: str, email: str, roles: Sequence[str] = ()) -> str:
        body = {"email": email, "password": PASSWORD, "fullName": "Somebody Else", "roles": list(roles)}
        made: str = (await self.make("/api/users", body, token))["id"]
        return made

    async def knows(self, token: str) -> bool:
        answer = await self.call("GET", "/api/auth/me", token=token)
        assert answer.status_code in (200, 401), answer.text
        return answer.status_code == 200

    async def _data(self, answer: httpx.Response, status: int) -> JsonObject:
        assert answer.status_code == status, answer.text
        data: JsonObject = answer.json()["data"]
        return data


@dataclass
class Pair:
    first: Client
    second: Client
    redis: RedisServer
    wires: tuple[Wire, Wire]
    database: "asyncpg.Connection[asyncpg.Record]"
    variables: dict[str, str]
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(1_000_000)))

    @property
    def clients(self) -> tuple[Client, Client]:
        return self.first, self.second

    def fresh(self, what: str) -> str:
        return f"{what}-{next(self._numbers)}"


@asynccontextmanager
async def pair_on(folder: Path, database_url: str, **more: str) -> AsyncIterator[Pair]:
    redis = RedisServer(folder)
    redis.start()
    wires = Wire(redis.port), Wire(redis.port)
    login, parts = f"tenantry_pair_{uuid4().hex[:12]}", urlsplit(database_url)
    variables = {
        # as in production: the service logs in as a role without rights of its own, which the owner makes
        "DATABASE_URL": parts._replace(netloc=f"{login}:secret@{parts.netloc.rpartition('@')[2]}").geturl(),
        "DATABASE_OWNER_URL": database_url,
        "DATABASE_CONNECTIONS": "6",  # other tests share the server
        "SECRET_KEY": "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD",
        "ADMIN_PASSWORD": PASSWORD,
        "BASE_URL": "http://api.example",
        "TRUSTED_PROXIES": "127.0.0.1",
        "LOG_LEVEL": "error",  # nobody reads what they say
        **more,
    }
    near_settings, far_settings = ({**variables, "REDIS_URL": f"redis://127.0.0.1:{wire.port}/0"} for wire in wires)
    limits = httpx.Limits(max_connections=None)
    database = await asyncpg.connect(database_url, server_settings={"tenantry.scope": "every"})
    try:
        with served(folder, near_settings) as first, served(folder, far_settings) as second:
            async with (
                httpx.AsyncClient(base_url=first.url, limits=limits, timeout=HUNG_AFTER) as near,
                httpx.AsyncClient(base_url=second.url, limits=limits, timeout=HUNG_AFTER) as far,
            ):
                yield Pair(Client(first, near), Client(second, far), redis, wires, database, near_settings)
    finally:
        await database.execute(f'DROP ROLE IF EXISTS "{login}"')
        await database.close()
        for wire in wires:
            wire.close()
        redis.kill()
