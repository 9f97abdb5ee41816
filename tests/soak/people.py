"""Mixed requests at a given rate over connections that stay open, and how long each took.

Tenants with members who read and write, for load.
"""

import asyncio
import json
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from benchmarks.client import Answer, Line
from benchmarks.measures import percentile
from tests.entrypoints.pair import Client
from tests.entrypoints.processes import PASSWORD

PATIENCE = 60.0
CONNECTIONS = 256


@dataclass(frozen=True)
class Ask:
    """A request as its bytes; ``then`` is told a good answer's JSON."""

    kind: str
    text: str
    then: Callable[[Any], None] | None = None


@dataclass
class Seen:
    """What was answered: milliseconds with the time of the answer, and statuses; 0 for no answer."""

    times: list[tuple[float, float]] = field(default_factory=list)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)

    def p99(self, since: float = 0.0, until: float = float("inf")) -> float:
        return percentile(sorted(took for at, took in self.times if since <= at < until), 99)

    def codes(self) -> set[int]:
        return {status for _, status in self.statuses}


def request(method: str, path: str, token: str | None = None, body: object = None) -> str:
    content = "" if body is None else json.dumps(body)
    lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(content)}"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += ["Content-Type: application/json"] if content else []
    return "\r\n".join([*lines, "", content])


class Load:
    """``make`` gives the next request; connections go to the ports by turns."""

    def __init__(self, ports: Sequence[int], make: Callable[[random.Random], Ask], seed: int = 1) -> None:
        self._ports, self._make, self._chance = ports, make, random.Random(seed)
        self._idle: list[Line] = []
        self._opened = 0
        self.seen = Seen()

    async def as_fast_as_possible(self, seconds: float, connections: int) -> float:
        """Requests a second that were answered, each connection sending its next when it has the last answer."""
        began = time.perf_counter()

        async def repeat() -> None:
            while time.perf_counter() < began + seconds:
                await self._one()

        await asyncio.gather(*(repeat() for _ in range(connections)))
        return len(self.seen.times) / (time.perf_counter() - began)

    async def at_rate(self, rate: float, seconds: float) -> None:
        """Sends at this rate, whether the answers come or not; where no connection is left, a request waits."""
        places, began, sent = asyncio.Semaphore(CONNECTIONS), time.perf_counter(), 0
        async with asyncio.TaskGroup() as tasks:
            while (now := time.perf_counter() - began) < seconds:
                while sent < now * rate:
                    sent += 1
                    await places.acquire()
                    tasks.create_task(self._one()).add_done_callback(lambda _: places.release())
                await asyncio.sleep(0.002)

    async def close(self) -> None:
        for line in self._idle:
            line.close()

    async def _one(self) -> None:
        ask = self._make(self._chance)
        began = time.perf_counter()
        try:
            line = self._waiting() or await self._open()
            answer = await asyncio.wait_for(line.ask(ask.text), PATIENCE)
        except (OSError, EOFError, TimeoutError) as error:
            self.seen.statuses[ask.kind, 0] += 1
            self.seen.errors.append(f"{ask.kind}: {error!r}")
            return
        self._idle.append(line)
        self._note(ask, answer, began)

    def _note(self, ask: Ask, answer: Answer, began: float) -> None:
        now = time.perf_counter()
        self.seen.times.append((now, (now - began) * 1e3))
        self.seen.statuses[ask.kind, answer.status] += 1
        if answer.status >= 400 and answer.status not in (429, 503):
            self.seen.errors.append(f"{ask.kind}: {answer.status} {answer.body[:200]!r}")
        elif ask.then is not None and answer.status < 300:
            with suppress(ValueError):
                ask.then(json.loads(answer.body))

    def _waiting(self) -> Line | None:
        """A connection without a request. One that the server has ended meanwhile is left, as clients do."""
        while self._idle:
            line = self._idle.pop()
            if not line.is_ended:
                return line
            line.close()
        return None

    async def _open(self) -> Line:
        self._opened += 1
        return await Line.open(self._ports[self._opened % len(self._ports)])


def ports_of(urls: Sequence[str]) -> list[int]:
    return [urlsplit(url).port or 0 for url in urls]


ROWS = 300
MOST_MADE = 200

WEIGHTS = (44, 20, 6, 12, 10, 9.5, 1, 0.3)
"""Of reads, pages, `me`, updates, creates, deletes, refreshes and logins."""


@dataclass
class Member:
    """An admin of a tenant, with the rows that their requests are about."""

    email: str
    token: str
    refresh_token: str
    ids: list[str]
    made: deque[str] = field(default_factory=deque)
    number: int = 0
    is_refreshing: bool = False

    def mixed(self, chance: random.Random) -> Ask:
        """What is created is deleted for good, so that the table keeps its size."""
        kinds = (self.read, self.page, self.me, self.update, self.create, self.delete, self.refresh, self.login)
        (kind,) = chance.choices(kinds, WEIGHTS)
        return kind(chance) or self.read(chance)

    def read(self, chance: random.Random) -> Ask:
        return self._ask("get", "GET", f"/api/products/{chance.choice(self.ids)}")

    def page(self, _: random.Random) -> Ask:
        return self._ask("page", "GET", "/api/products?pageSize=20&sort=price:desc&status=draft")

    def me(self, _: random.Random) -> Ask:
        return self._ask("me", "GET", "/api/auth/me")

    def update(self, chance: random.Random) -> Ask:
        path = f"/api/products/{chance.choice(self.ids)}"
        return self._ask("update", "PUT", path, {"stock": chance.randrange(1000)})

    def create(self, _: random.Random) -> Ask | None:
        full = len(self.made) >= MOST_MADE
        return None if full else self._ask("create", "POST", "/api/products", self._product(), self._keep)

    def delete(self, _: random.Random) -> Ask | None:
        if not self.made:
            return None
        return self._ask("delete", "DELETE", f"/api/products/{self.made.popleft()}?permanent=true")

    def refresh(self, _: random.Random) -> Ask | None:
        """One at a time: the token of the last answer is the one to show."""
        if self.is_refreshing:
            return None
        self.is_refreshing = True
        body = {"refreshToken": self.refresh_token}
        return Ask("refresh", request("POST", "/api/auth/refresh", None, body), self._renew)

    def login(self, _: random.Random) -> Ask:
        body: dict[str, object] = {"email": self.email, "password": PASSWORD, "isPasswordEncrypted": False}
        return Ask("login", request("POST", "/api/auth/login", None, body))

    def _ask(self, kind: str, method: str, path: str, body: object = None, then: Any = None) -> Ask:
        return Ask(kind, request(method, path, self.token, body), then)

    def _product(self) -> dict[str, object]:
        self.number += 1
        return {"name": f"Lamp {self.number}", "sku": f"SOAK-{self.number}", "price": 9.5}

    def _keep(self, answer: Any) -> None:
        self.made.append(answer["data"]["id"])

    def _renew(self, answer: Any) -> None:
        self.is_refreshing = False
        self.token, self.refresh_token = answer["data"]["token"], answer["data"]["refreshToken"]


async def member_of(client: Client, identifier: str) -> Member:
    """The admin of a new tenant with its rows."""
    root = (await client.log_in())["token"]
    tenant = await client.make("/api/tenants", {"name": identifier, "identifier": identifier}, root)
    email = f"admin@{identifier}.example"
    user_id = await client.make_user(root, email)
    await client.make(f"/api/tenants/{tenant['id']}/users", {"userId": user_id, "roles": ["Admin"]}, root)
    session = await client.log_in(email)
    items = [{"name": f"Lamp {number}", "sku": f"ROW-{number}", "price": number} for number in range(ROWS)]
    answer = await client.call("POST", "/api/products/batch", {"items": items}, session["token"])
    assert answer.status_code == 200, answer.text
    ids = [item["id"] for item in answer.json()["data"]["items"]]
    return Member(email, session["token"], session["refreshToken"], ids)
