"""Processes killed at any moment of a request: what was answered is kept, the rest is whole or absent."""

import asyncio
import os
import signal
import time
from contextlib import suppress
from email import message_from_bytes
from functools import partial
from random import Random

import httpx
import pytest
from asyncpg import Record

from application.operations.mail_delivery import HELD
from tests.entrypoints.pair import Client, JsonObject
from tests.entrypoints.processes import descendants
from tests.faults.rig import RECOVERED_WITHIN, Process, Rig
from tests.faults.traffic import GUEST, Traffic, traffic_on

KILLS = int(os.environ.get("TENANTRY_TEST_KILLS", "12"))
"""How often each kind of request is cut off by a kill."""

REST = 6.0
"""Seconds between two kills of a process: the server gives up on workers that die sooner."""

IMPORTED = 400
BOUNDARY = "killed"

pytestmark = [pytest.mark.timeout(300 + 40 * KILLS), pytest.mark.long]


@pytest.fixture
async def traffic(rig: Rig) -> Traffic:
    await rig.postgres.ask("DELETE FROM products")
    traffic = await traffic_on(rig)
    traffic.allows_no_answer = True
    return traffic


class Victim:
    """A kind of request that is sent to the process that dies, and what must hold after each kill.

    ``lasts`` are the seconds within which the kill comes.
    """

    lasts = 0.05

    def __init__(self, traffic: Traffic) -> None:
        self.traffic, self.rig = traffic, traffic.rig
        self.first, self.second = traffic.rig.clients

    def swap(self) -> None:
        self.first, self.second = self.second, self.first

    async def ask(self, number: int) -> None:
        raise NotImplementedError

    async def holds(self) -> None:
        raise NotImplementedError


class Login(Victim):
    lasts = 0.25
    session: JsonObject | None = None

    async def ask(self, number: int) -> None:
        body = {"email": "guest-0@example.com", "password": GUEST, "isPasswordEncrypted": False}
        done = await self.traffic.ask("login", self.first, "POST", "/api/auth/login", body)
        self.session = done and done["data"]

    async def holds(self) -> None:
        """Nobody is kept out by logins that nobody finished, and a session that was answered lives."""
        if self.session is not None:
            assert await self.second.knows(self.session["token"])
        assert (await self.second.try_login("guest-0@example.com", GUEST)).status_code == 200


class Refresh(Victim):
    async def ask(self, number: int) -> None:
        await self.traffic.refreshes(self.first)

    async def holds(self) -> None:
        """The token that was not answered for is taken by the other process, and no token is called stolen."""
        session = self.traffic.sessions[0]
        answer = await self.second.call("POST", "/api/auth/refresh", {"refreshToken": session["refreshToken"]})
        assert answer.status_code == 200, answer.text
        session.update(answer.json()["data"])
        assert await self.second.knows(session["token"])


class Logout(Victim):
    token = ""

    async def ask(self, number: int) -> None:
        self.token = (await self.second.try_login("guest-1@example.com", GUEST)).json()["data"]["token"]
        done = await self.traffic.ask("logout", self.first, "POST", "/api/auth/logout", token=self.token)
        if done is not None:
            self.traffic.dead.append(self.token)

    async def holds(self) -> None:
        for token in self.traffic.dead[-3:]:
            assert not await self.second.knows(token)


class Batch(Victim):
    async def ask(self, number: int) -> None:
        await self.traffic.batch(self.first)

    async def holds(self) -> None:
        await self.traffic.verify()


class Import(Victim):
    lasts = 0.6

    async def ask(self, number: int) -> None:
        lines = [f"Lamp,IMP-{number}-{row},1.5" for row in range(IMPORTED)]
        file = "\r\n".join(["name,sku,price", *lines])
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
        headers = {
            "Authorization": f"Bearer {self.traffic.root}",
            "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
        }
        content = f"{head}{file}\r\n--{BOUNDARY}--\r\n".encode()
        self.answer = None
        with suppress(httpx.TransportError):
            self.answer = await self.first.client.post("/api/products/import", content=content, headers=headers)
        self.number = number

    async def holds(self) -> None:
        rows = await self.rig.postgres.ask("SELECT count(*) FROM products WHERE sku LIKE $1", f"IMP-{self.number}-%")
        if self.answer is not None:
            assert self.answer.status_code == 200, self.answer.text
        assert rows[0][0] == IMPORTED or (rows[0][0] == 0 and self.answer is None)


class Mail(Victim):
    """Welcome mails, which stand in the outbox of the transaction that makes the user."""

    lasts = 0.4
    asked = 0

    async def ask(self, number: int) -> None:
        self.asked = number
        body = {
            "email": f"mailed-{number}@example.com",
            "password": GUEST,
            "fullName": "A Guest",
            "roles": [],
            "sendWelcomeEmail": True,
        }
        await self.traffic.ask("mail", self.first, "POST", "/api/users", body, self.traffic.root)

    async def holds(self) -> None:
        """Who was made gets a mail, and nobody else does."""

        async def all_sent() -> bool:
            made = {row["email"] for row in await self.rig.postgres.ask("SELECT email FROM users") if is_mailed(row)}
            told = {str(message_from_bytes(file.read_bytes())["To"]) for file in self.rig.folder.rglob("*.eml")}
            assert {address for address in told if address.startswith("mailed-")} <= made
            return made <= told

        # a mail that was taken by a process that died is taken again when its time is over
        await self.rig.recovers("mail", all_sent, HELD.total_seconds() + RECOVERED_WITHIN)


def is_mailed(row: Record) -> bool:
    return str(row["email"]).startswith("mailed-")


def kill_workers(process: Process) -> None:
    for pid in descendants(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.promise(
    "security, faults: a process killed at any moment of a login, refresh, logout, batch, import or mail leaves that "
    "whole or absent, and loses nothing that was answered"
)
@pytest.mark.parametrize("kind", [Login, Refresh, Logout, Batch, Import, Mail])
async def test_killed_in_the_middle_of(rig: Rig, traffic: Traffic, kind: type[Victim]) -> None:
    victim, chance = kind(traffic), Random(7)
    for number in range(KILLS):
        victim.swap()
        process = rig.processes[rig.clients.index(victim.first)]
        await asyncio.sleep(max(0.0, process.worker_killed_at + REST - time.monotonic()))
        asking = asyncio.create_task(victim.ask(number))
        await asyncio.sleep(chance.random() * victim.lasts)
        kill_workers(process)
        await asking
        await rig.recovers(kind.__name__, partial(is_live, victim.first))  # as soon as a new worker has started
        process.worker_killed_at = time.monotonic()
        await victim.holds()
    assert traffic.wrong == []


async def is_live(client: Client) -> bool:
    with suppress(httpx.TransportError):
        return (await client.call("GET", "/health/ready")).status_code == 200
    return False


@pytest.mark.promise(
    "security, faults: a process killed at any moment of a login, refresh, logout, batch, import or mail leaves that "
    "whole or absent, and loses nothing that was answered"
)
async def test_a_whole_service_killed_under_traffic_and_started_again(rig: Rig, traffic: Traffic) -> None:
    async with traffic.flowing():
        for _ in range(max(1, KILLS // 8)):
            await asyncio.sleep(0.7)
            rig.processes[0].kill()
            await asyncio.to_thread(rig.processes[0].start)
            await rig.recovers("service", traffic.works)
    await traffic.verify()
