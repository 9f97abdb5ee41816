"""Requests of many kinds while a fault lasts, and what must hold afterwards of those that were answered."""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count

import httpx

from tests.entrypoints.pair import Client, JsonObject
from tests.faults.rig import Rig

Kind = Callable[[Client], Awaitable[bool]]
"""A kind of request: whether it was answered."""

AWAY = 503
BATCH = 5


@dataclass
class Traffic:
    """``stored`` are SKUs of answered creates, ``unknown`` those of unanswered ones; ``dead`` are tokens of answered
    logouts; ``wrong`` is everything that was answered as it may not be.
    """

    rig: Rig
    root: str
    sessions: list[JsonObject]
    allows_no_answer: bool = False
    stored: set[str] = field(default_factory=set)
    unknown: set[str] = field(default_factory=set)
    batches: dict[str, bool] = field(default_factory=dict)
    stock: list[int] = field(default_factory=lambda: [0, 0])
    dead: list[str] = field(default_factory=list)
    seen: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _row: str = ""
    _turns: defaultdict[tuple[str, str], asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def begin(self) -> None:
        """A row that is updated all the time."""
        self._row = (await self.rig.clients[0].make("/api/products", product("ROW"), self.root))["id"]

    @asynccontextmanager
    async def flowing(self) -> AsyncIterator[None]:
        over = asyncio.Event()

        async def repeated(kind: Kind, client: Client) -> None:
            while not over.is_set():
                await self._in_turn(kind, client)

        tasks = [asyncio.create_task(repeated(kind, client)) for client in self.rig.clients for kind in self._kinds]
        try:
            yield
        finally:
            over.set()
            await asyncio.gather(*tasks)

    async def works(self) -> bool:
        """Every kind of request is answered by each process."""
        turns = [self._in_turn(kind, client) for client in self.rig.clients for kind in self._kinds]
        return all(await asyncio.gather(*turns))

    @property
    def _kinds(self) -> tuple[Kind, ...]:
        return self.creates, self.updates, self.batch, self.reads, self.refreshes, self.logs_in

    async def _in_turn(self, kind: Kind, client: Client) -> bool:
        """Two who use one refresh token, or end the sessions of one user, would not know what to expect."""
        async with self._turns[kind.__name__, client.served.url]:
            return await kind(client)

    async def ask(
        self, kind: str, client: Client, method: str, path: str, body: object = None, token: str | None = None
    ) -> JsonObject | None:
        """The body of a good answer, None for an outage; anything else is noted as wrong."""
        try:
            answer = await client.call(method, path, body, token)
        except httpx.TransportError as error:
            if not self.allows_no_answer:
                self.wrong.append(f"{kind}: {error!r}")
            self.seen[kind, 0] += 1
            return None
        self.seen[kind, answer.status_code] += 1
        if answer.status_code == AWAY:
            if "Retry-After" not in answer.headers:
                self.wrong.append(f"{kind}: no Retry-After")
            return None
        if not 200 <= answer.status_code < 300:
            self.wrong.append(f"{kind}: {answer.status_code} {answer.text}")
            return None
        try:
            body = json.loads(answer.content)
        except ValueError:
            self.wrong.append(f"{kind}: {answer.content!r}")
            return None
        assert isinstance(body, dict)
        return body

    async def creates(self, client: Client) -> bool:
        sku = f"SKU-{next(self._numbers)}"
        done = await self.ask("create", client, "POST", "/api/products", product(sku), self.root)
        (self.unknown if done is None else self.stored).add(sku)
        return done is not None

    async def batch(self, client: Client) -> bool:
        prefix = f"BATCH-{next(self._numbers)}-"
        items = [product(f"{prefix}{number}") for number in range(BATCH)]
        done = await self.ask("batch", client, "POST", "/api/products/batch", {"items": items}, self.root)
        self.batches[prefix] = done is not None
        return done is not None

    async def updates(self, client: Client) -> bool:
        """Each process writes its own field: numbers that rise, of which the last answered is the least there is."""
        place = self.rig.clients.index(client)
        path, number = f"/api/products/{self._row}", next(self._numbers)
        body = {"stock": number} if place == 0 else {"description": str(number)}
        done = await self.ask("update", client, "PUT", path, body, self.root)
        if done is not None:
            self.stock[place] = number
        return done is not None

    async def reads(self, client: Client) -> bool:
        path = f"/api/products/{self._row}"
        return await self.ask("read", client, "GET", path, token=self.root) is not None

    async def refreshes(self, client: Client) -> bool:
        """A token that was not answered for is shown again, and must be taken."""
        session = self.sessions[self.rig.clients.index(client)]
        body = {"refreshToken": session["refreshToken"]}
        done = await self.ask("refresh", client, "POST", "/api/auth/refresh", body)
        if done is not None:
            session.update(done["data"])
        return done is not None

    async def logs_in(self, client: Client) -> bool:
        """A session that is ended at once; the first answer to its end decides."""
        email = f"guest-{self.rig.clients.index(client)}@example.com"
        body = {"email": email, "password": GUEST, "isPasswordEncrypted": False}
        began = await self.ask("login", client, "POST", "/api/auth/login", body)
        if began is None:
            return False
        token: str = began["data"]["token"]
        ended = await self.ask("logout", client, "POST", "/api/auth/logout", token=token)
        if ended is not None:
            self.dead.append(token)
        return ended is not None

    async def verify(self) -> None:
        """What was answered is kept, what was not is whole or absent, and no token lives again."""
        assert self.wrong == []
        rows = await self.rig.postgres.ask("SELECT sku, stock, description FROM products")
        found = Counter(row["sku"] for row in rows)
        assert not self.stored - found.keys()
        assert set(found.values()) == {1}
        for prefix, is_answered in self.batches.items():
            items = sum(sku.startswith(prefix) for sku in found)
            assert items == BATCH or (items == 0 and not is_answered), (prefix, items)
        (row,) = (row for row in rows if row["sku"] == "ROW")
        assert row["stock"] >= self.stock[0]
        assert int(row["description"] or 0) >= self.stock[1]
        for client in self.rig.clients:
            for token in self.dead[-20:]:
                answer = await client.call("GET", "/api/auth/me", token=token)
                assert answer.status_code == 401, answer.text

    def statuses(self) -> set[int]:
        return {status for _, status in self.seen}


GUEST = "a guest of the house"


def product(sku: str) -> dict[str, object]:
    return {"name": "Lamp", "sku": sku, "price": 1.5}


async def traffic_on(rig: Rig) -> Traffic:
    """Guests who come and go, and members of a tenant who stay: a session without a tenant lasts ten minutes."""
    client = rig.clients[0]
    root = (await client.log_in())["token"]
    body = {"name": "Acme", "identifier": "acme"}
    made = await client.call("POST", "/api/tenants", body, root)
    for number in range(2):
        for name in ("guest", "stayer"):
            user = {"email": f"{name}-{number}@example.com", "password": GUEST, "fullName": "A Guest", "roles": []}
            answer = await client.call("POST", "/api/users", user, root)
            assert answer.status_code == (409 if made.status_code == 409 else 201), answer.text
            if name == "stayer" and made.status_code == 201:
                member = {"userId": answer.json()["data"]["id"], "roles": ["Member"]}
                await client.make(f"/api/tenants/{made.json()['data']['id']}/users", member, root)
    sessions = [await session_of(client, f"stayer-{number}@example.com") for number in range(2)]
    traffic = Traffic(rig, root, sessions)
    await traffic.begin()
    return traffic


async def session_of(client: Client, email: str) -> JsonObject:
    answer = await client.try_login(email, GUEST)
    assert answer.status_code == 200, answer.text
    session: JsonObject = answer.json()["data"]
    return session
