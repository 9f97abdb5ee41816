"""The clients of docs/changes.md maintain an equal copy through random writes, lost connections, restarts and restores.

``TENANTRY_TEST_FOLLOWED`` is the time in seconds; `make stress` asks for ten minutes.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.documentation.documents import compiled, copied
from tests.entrypoints.pair import Wire
from tests.entrypoints.processes import PASSWORD, Serve, Served, Tenantry, eventually, free_port
from tests.waiting import HUNG_AFTER

SECONDS = float(os.environ.get("TENANTRY_TEST_FOLLOWED", "5"))
ENTITY = """
from msgspec import Struct
from tenantry import entity


@entity("notes", changes=True)
class Note(Struct, rename="camel", kw_only=True):
    title: str
    hits: int = 0


ENTITIES = (Note,)
"""
TITLES = ("plain", "Grüße\n\nid: x\nevent: moved", "z\u2028\r\n", "t" * 70_000)
"""Texts that resemble fields of a stream, and one that is too large for it."""
PYTHON = """
import json, sys, threading
from follow import follow

rows = {}
threading.Thread(target=follow, args=(*sys.argv[1:], rows), daemon=True).start()
for _ in sys.stdin:
    print(json.dumps(dict(rows)), flush=True)
"""
TYPESCRIPT = """
import { createInterface } from "node:readline";
import { follow } from "./follow";

const rows = new Map();
void follow(process.argv[2], process.argv[3], rows);
for await (const _ of createInterface(process.stdin)) console.log(JSON.stringify(Object.fromEntries(rows)));
process.exit();
"""


def python(folder: Path) -> list[str]:
    copied("changes.md", "follow.py", folder)
    (folder / "main.py").write_text(PYTHON)
    return [sys.executable, str(folder / "main.py")]


def typescript(folder: Path) -> list[str]:
    copied("changes.md", "follow.ts", folder)
    return ["node", compiled(TYPESCRIPT, folder)]


class Service:
    """A service at a port that it has again after each restart, and a wire to it that can be cut."""

    def __init__(self, serve: Serve, settings: dict[str, str]) -> None:
        self._serve, self._settings = serve, {**settings, "PORT": str(free_port())}
        self.wire = Wire(int(self._settings["PORT"]))
        self.start()
        self.token = self.served.log_in(PASSWORD)

    def start(self) -> None:
        self.served: Served = self._serve(**self._settings)

    def end(self, how: signal.Signals) -> None:
        os.killpg(self.served.process.pid, how)
        self.served.process.wait(HUNG_AFTER)

    async def execute(self, *statements: str) -> None:
        connection = await asyncpg.connect(self._settings["DATABASE_URL"])
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    def call(self, method: str, path: str, body: object = None) -> Any:
        answer = self.served.call(method, f"/api/{path}", body, self.token)
        assert answer.status < 300, answer
        return answer.body.get("data") if isinstance(answer.body, dict) else answer.body


@dataclass
class Notes:
    """Random writes of a user, and the rows that the service has after them."""

    service: Service
    chosen: random.Random = field(default_factory=lambda: random.Random(7))
    present: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def write(self, count: int) -> None:
        for _ in range(count):
            self._write(self.chosen.random())

    def _write(self, what: float) -> None:
        call = self.service.call
        if what < 0.3 or not self.present:
            self.present.append(call("POST", "notes", self._values())["id"])
        elif what < 0.35:
            made = call("POST", "notes/batch", {"items": [self._values() for _ in range(10)]})
            self.present += [item["id"] for item in made["items"]]
        elif what < 0.75:
            call("PATCH", f"notes/{self.chosen.choice(self.present)}", self._values())
        elif what < 0.85 and self.deleted:
            self.present.append(self._one_of(self.deleted))
            call("POST", f"notes/{self.present[-1]}/restore")
        else:
            self.deleted.append(self._one_of(self.present))
            call("DELETE", f"notes/{self.deleted[-1]}")

    def _values(self) -> dict[str, object]:
        return {"title": self.chosen.choices(TITLES, (50, 20, 20, 2))[0], "hits": self.chosen.randrange(1_000)}

    def _one_of(self, ids: list[str]) -> str:
        return ids.pop(self.chosen.randrange(len(ids)))


async def disconnect(notes: Notes) -> None:
    notes.service.wire.cut()
    notes.write(10)
    notes.service.wire.mend()


async def kill(notes: Notes) -> None:
    notes.service.end(signal.SIGKILL)
    notes.service.start()


async def restore(notes: Notes) -> None:
    """Restart the service with another epoch, and without a row of which the log has no deletion, as a restore does."""
    notes.service.end(signal.SIGTERM)
    gone = f"DELETE FROM notes WHERE id = '{notes.present.pop()}'"
    await notes.service.execute(gone, "UPDATE service_epoch SET epoch = gen_random_uuid()")
    notes.service.start()


@contextmanager
def copying(command: list[str]) -> Iterator[Callable[[object], None]]:
    """Run a program with a client of the page. The function waits until its copy is equal to rows."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:

        def rows() -> Any:
            assert program.stdin is not None
            assert program.stdout is not None
            program.stdin.write("rows\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())

        yield lambda expected: eventually(lambda: rows() == expected)
        program.kill()


@pytest.mark.promise("entities, changes: the clients of the documents maintain an equal copy through disturbances")
@pytest.mark.parametrize("language", [python, typescript])
@pytest.mark.timeout(SECONDS + 600)
async def test_the_clients_of_the_page_maintain_an_equal_copy(
    language: Callable[[Path], list[str]], serve: Serve, tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    command = language(tmp_path)
    (tmp_path / "notes.py").write_text(ENTITY, "utf-8")
    settings = {**migrated, "ENTITIES": "tenantry.catalogue,notes.py"}
    for arguments in (("migrate", "--write", "notes"), ("migrate",)):
        ended = tenantry(*arguments, **settings)
        assert ended.returncode == 0, ended.stderr
    service = Service(serve, settings)
    service.call("POST", "roles", {"name": "Reader", "permissions": ["read:notes"]})
    account = service.call("POST", "service-accounts", {"name": "copy", "roles": ["Reader"]})["id"]
    key = service.call("POST", f"service-accounts/{account}/keys", {"name": "copy"})["key"]
    notes = Notes(service)
    notes.write(20)
    began = time.monotonic()
    with copying([*command, f"http://127.0.0.1:{service.wire.port}/api/notes", key]) as becomes:
        for number, disturb in enumerate(cycle((disconnect, kill, restore)), 1):
            notes.write(30)
            await disturb(notes)
            notes.write(10)
            expected = {row["id"]: row for row in service.call("GET", "notes/export?format=json")}
            assert len(expected) == len(notes.present)
            becomes(expected)
            if number >= 3 and time.monotonic() > began + SECONDS:
                break
    service.wire.close()
