"""Sheets read and written by processes of their own, so that neither their work nor their memory is the service's."""

import asyncio
import io
import os
import shutil
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import BinaryIO

import msgspec

from adapters.sheets.frames import (
    DONE,
    ERRORS,
    HEAD,
    READY,
    REFUSED,
    ROWS,
    Entity,
    Errors,
    ReadJob,
    SheetRefusal,
    WriteJob,
    receive,
)
from adapters.sheets.reader import read as read_sheet
from application.ports.entities.files import ImportRequest, ReadSheet
from domain.entities.declaration import EntityModel
from domain.entities.sheets import Column, RowError
from domain.errors import BadRequest

PIECE = 128 * 1024
SMALL, FEW = 256 * 1024, 5_000
"""Bytes and lines that are sooner read than a process starts, even when each line is wrong."""
ENDS_WITHIN = 5.0
BROKEN = "The file cannot be read: it takes too much memory, or it is damaged."


@dataclass(frozen=True)
class ProcessSheets:
    """``lane`` lets one small file at a time into a thread: two would only take the loop's turns from it."""

    lane: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def read(self, model: EntityModel, upload: BinaryIO, reading: ImportRequest) -> AsyncIterator[ReadSheet]:
        job = ReadJob(entity=_entity(model), options=reading.options, may=reading.may)
        if _is_small(upload):
            async with self.lane:
                found = await _read_here(model, upload, job)
            yield found
            return
        descriptor = upload.fileno()
        async with _worker(f"{__package__}.reader", descriptor) as process:
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(job) + b"\n")
            sheet = _ReadSheet(process)
            await sheet.ready()
            yield sheet

    @asynccontextmanager
    async def workbook(
        self, columns: Sequence[Column], rows: AsyncIterator[bytes]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        job = WriteJob(names=tuple(one.name for one in columns), kinds=tuple(one.field.kind.name for one in columns))
        with tempfile.TemporaryFile() as made:
            with _folder() as folder:
                async with _worker(f"{__package__}.writer", made.fileno(), folder) as process:
                    await _write(process, job, rows)
            yield _pieces(made)


def _is_small(upload: BinaryIO) -> bool:
    """Text alone, which cannot inflate."""
    upload.seek(0)
    start = upload.read(SMALL + 1)
    upload.seek(0)
    if len(start) > SMALL or start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return False
    return max(start.count(b"\n"), start.count(b"\r")) <= FEW


async def _read_here(model: EntityModel, upload: BinaryIO, job: ReadJob) -> "_FoundSheet":
    said = io.BytesIO()
    await asyncio.to_thread(read_sheet, upload, model, job, said)
    said.seek(0)
    sheet = _FoundSheet()
    while (frame := receive(said))[0] != DONE:
        letter, body = frame
        if letter == ROWS:
            sheet.found.append(body)
        elif letter == ERRORS:
            errors = msgspec.json.decode(body, type=Errors)
            sheet.failed, sheet.errors = errors.failed, [*errors.errors]
    return sheet


@dataclass
class _FoundSheet:
    found: list[bytes] = field(default_factory=list)
    failed: int = 0
    errors: list[RowError] = field(default_factory=list)

    async def rows(self) -> AsyncIterator[bytes]:
        for one in self.found:
            yield one


@dataclass
class _ReadSheet:
    process: Process
    failed: int = 0
    errors: list[RowError] = field(default_factory=list)

    async def ready(self) -> None:
        letter, _ = await self._received()
        assert letter == READY

    async def rows(self) -> AsyncIterator[bytes]:
        while True:
            letter, body = await self._received()
            if letter == ROWS:
                yield body
            elif letter == ERRORS:
                said = msgspec.json.decode(body, type=Errors)
                self.failed, self.errors = said.failed, [*said.errors]
            elif letter == DONE:
                return

    async def _received(self) -> tuple[bytes, bytes]:
        """A file that kills its reader is no file."""
        try:
            return await _received(self.process)
        except asyncio.IncompleteReadError:
            raise BadRequest(BROKEN) from None


async def _received(process: Process) -> tuple[bytes, bytes]:
    """Raises what the worker refuses, IncompleteReadError when it is no more."""
    assert process.stdout is not None
    letter, length = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
    body = await process.stdout.readexactly(length)
    if letter == REFUSED:
        raise msgspec.json.decode(body, type=SheetRefusal).raised()
    return letter, body


async def _write(process: Process, job: WriteJob, rows: AsyncIterator[bytes]) -> None:
    """A worker that has refused reads no more: what it says is looked at, not that the pipe broke."""
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(job) + b"\n")
    with suppress(BrokenPipeError, ConnectionResetError):
        async for piece in rows:
            process.stdin.write(HEAD.pack(ROWS, len(piece)))
            process.stdin.write(piece)
            await process.stdin.drain()
        process.stdin.write(HEAD.pack(DONE, 0))
        await process.stdin.drain()
    try:
        letter, _ = await _received(process)
    except asyncio.IncompleteReadError:
        raise RuntimeError("The process that writes a sheet has ended.") from None
    assert letter == DONE


async def _pieces(made: BinaryIO) -> AsyncIterator[bytes]:
    """Written just now, so it is in the machine's memory, and reading it waits for nothing."""
    made.seek(0)
    while piece := made.read(PIECE):
        yield piece


@contextmanager
def _folder() -> Iterator[str]:
    """For a worker's own files; either of the two that outlives the other takes it away."""
    made = tempfile.mkdtemp(prefix="tenantry-sheet-")
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@asynccontextmanager
async def _worker(module: str, descriptor: int, *more: str) -> AsyncIterator[Process]:
    """Given the open file as its own; it ends with the block, and by itself when this process is gone."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        str(descriptor),
        *more,
        stdin=PIPE,
        stdout=PIPE,
        pass_fds=[descriptor],
        env={**_environment(), "PYTHONPATH": os.pathsep.join(one for one in sys.path if one)},
        limit=4 * PIECE,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await _gone(process)


async def _gone(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    waiting = asyncio.ensure_future(process.wait())
    await asyncio.wait([waiting], timeout=ENDS_WITHIN)


def _environment() -> dict[str, str]:
    """Nothing secret: a worker reads files of strangers."""
    return {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}


def _entity(model: EntityModel) -> Entity:
    module = sys.modules[model.struct.__module__]
    file = module.__file__ if os.sep in module.__name__ else None
    return Entity(module.__name__, model.struct.__qualname__, file)
