"""A process whose children use files and kill themselves at a step: ``killed_process URL FOLDER``.

Each line of standard input is ``step N``, or ``time S`` in seconds. The answer is ``killed``, or ``done`` with the
number of steps.
"""

import asyncio
import hashlib
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from adapters.contents.detection import DetectedContents
from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.memory.upkeep import MemoryUpkeep
from adapters.objects.disk import DiskStore
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.usual_statements import compile_usual_statements
from adapters.sheets.xlsx.archive import office_archive
from adapters.system import Uuid7Ids
from application.entities.attachments.unused_files import UnusedFileRemoval
from application.entities.attachments.uploads import FileUploads, Received
from application.entities.transfers.transfer_slots import TransferSlots
from domain.scope import Client, OneTenant, Scope
from tests.contracts.entities.attachments.conftest import Desk
from tests.contracts.entities.attachments.entities import REGISTRY

CLIENT = Client(address="", network="", device="", request_id="")
AGED = timedelta(days=8)
"""Age at which every file without a holder is deleted."""
_OF_THE_FOLDER = {"open", "os.rename", "os.mkdir", "os.remove"}


@dataclass
class Steps:
    """Kills the process before the step ``last``."""

    last: int
    count: int = 0

    def step(self) -> None:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def of_the_folder(self, folder: Path) -> None:
        """Let each change of a file in the folder be a step."""

        def hear(name: str, arguments: tuple[Any, ...]) -> None:
            if name in _OF_THE_FOLDER and str(arguments[0]).startswith(str(folder)):
                self.step()

        sys.addaudithook(hear)


@dataclass(frozen=True)
class SteppedDatabase:
    """Lets the end of each transaction be two steps: before and after its commit."""

    database: PostgresDatabase
    steps: Steps

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[Any]:
        async with self.database.transaction(scope) as tx:
            yield tx
            self.steps.step()
        self.steps.step()

    autocommit = transaction

    @asynccontextmanager
    async def read_only(self, scope: Scope) -> AsyncIterator[Any]:
        async with self.database.read_only(scope) as read:
            yield read


def removal_of(database: Any, store: DiskStore, desk: Desk) -> UnusedFileRemoval:
    upkeep = MemoryUpkeep(MemoryDatabase(REGISTRY, CountingIds()))
    return UnusedFileRemoval(database, store, upkeep, desk.clock, timedelta(days=7))


async def life(url: str, folder: Path, steps: Steps) -> None:
    """Upload, attach, replace, discard and purge files of a new tenant, and delete those that no row holds."""
    opened = PostgresDatabase(url, REGISTRY, Uuid7Ids(), connections=2)
    await opened.open()
    database: Any = SteppedDatabase(opened, steps)
    store, ids = DiskStore(folder), Uuid7Ids()
    desk = Desk(database, OneTenant(ids.new()), ids.new())
    uploads = FileUploads(database, REGISTRY, store, DetectedContents(office_archive), desk.clock, ids, TransferSlots())
    caller = desk.write.caller

    async def uploaded(number: int) -> UUID:
        path = folder.parent / f"upload {os.getpid()}"
        content = f"plan {number} of {desk.tenant.id}".encode()
        path.write_bytes(content)  # a test
        received = Received(path, "plan.txt", len(content), hashlib.sha256(content).hexdigest())
        file = await uploads.upload(caller, CLIENT, uploads.purpose(caller, "items.plans"), received)
        path.unlink()  # a test
        return file.id

    steps.of_the_folder(folder)
    first, second, third, stays = [await uploaded(number) for number in range(4)]
    row = await desk.add(code=str(ids.new()), plan_ids=[first])
    await desk.add(code=str(ids.new()), plan_ids=[stays])
    await desk.change(row, plan_ids=[second])
    await uploads.discard(caller, third)
    await desk.purge(row)
    desk.clock.move(AGED)
    while await removal_of(database, store, desk).remove():
        pass
    await opened.close()


def child(url: str, folder: Path, kind: str, value: str) -> None:
    steps = Steps(int(value) if kind == "step" else 0)
    if kind == "time":
        timer = threading.Timer(float(value), os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    asyncio.run(life(url, folder, steps))
    say(f"done {steps.count}")


def say(answer: str) -> None:
    sys.stdout.write(f"{answer}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> None:
    url, folder = arguments[0], Path(arguments[1])
    compile_usual_statements(REGISTRY)  # the children need not
    for line in sys.stdin:
        kind, value = line.split()
        pid = os.fork()
        if pid == 0:
            child(url, folder, kind, value)
            os._exit(0)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status:
            say("killed" if status == -signal.SIGKILL else f"failed {status}")


if __name__ == "__main__":
    main(sys.argv[1:])
