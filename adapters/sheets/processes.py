"""Sheets read and written by child processes, so that their work and memory do not burden the service."""

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

from adapters.sheets.declarations import entity_of
from adapters.sheets.frames import (
    DONE,
    ERRORS,
    HEAD,
    LOADED,
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
from domain.entities.sheets import BuiltForm, Column, FileHeader, RowError
from domain.errors import BadRequest

PIECE = 128 * 1024
SMALL, FEW = 256 * 1024, 5_000
"""Bytes and lines of a file that is read faster than a process starts, even when every line is wrong."""
ENDS_WITHIN = 5.0
SILENT = 120.0
"""Seconds that a child process may take for a frame: several times what it needs for the largest part of a file."""
BROKEN = "The file cannot be read: it takes too much memory or time, or it is damaged."
_GIVES_BACK = "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0,retain:false"
"""Setting of jemalloc in polars: what is free goes back at once, where it would keep 60 MiB for the next moment."""
_WRITERS: dict[BuiltForm, str] = {"xlsx": "writer", "parquet": "parquet_writer"}


@dataclass(frozen=True)
class ProcessSheets:
    """Reads small files in a thread of the service, and everything else in a process."""

    # A single file at a time: two threads would take the interpreter from the event loop for twice as long.
    lane: asyncio.Lock = field(default_factory=asyncio.Lock)

    @asynccontextmanager
    async def read(self, model: EntityModel, upload: BinaryIO, reading: ImportRequest) -> AsyncIterator[ReadSheet]:
        job = ReadJob(entity=entity_of(model), options=reading.options, may=reading.may, related=reading.related)
        if _is_small(upload) and shows_its_lines(reading.options.encoding):
            async with self.lane:
                found = await _read_here(model, upload, job)
            yield found
            return
        descriptor = upload.fileno()
        async with _child(f"{__package__}.reader", descriptor) as process:
            assert process.stdin is not None
            process.stdin.write(msgspec.json.encode(job) + b"\n")
            sheet = _ReadSheet(process)
            await sheet.loaded(job.entity)
            await sheet.ready()
            yield sheet

    @asynccontextmanager
    async def write(
        self, columns: Sequence[Column], rows: AsyncIterator[bytes], form: BuiltForm
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        with tempfile.TemporaryFile() as made:
            with _folder() as folder:
                async with _child(f"{__package__}.{_WRITERS[form]}", made.fileno(), folder) as process:
                    await _write(process, WriteJob.of(columns), rows)
            yield _pieces(made)


def _is_small(upload: BinaryIO) -> bool:
    """Whether the file is short text; archives and Parquet are never small, since they can inflate."""
    upload.seek(0)
    start = upload.read(SMALL + 1)
    upload.seek(0)
    if len(start) > SMALL or start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR")):
        return False
    if start.endswith((b"PAR1", b"PARE")):  # a Parquet whose first bytes are damaged
        return False
    return max(start.count(b"\n"), start.count(b"\r")) <= FEW


def shows_its_lines(encoding: str | None) -> bool:
    """Whether the bytes of line feeds are the lines of the text: not in EBCDIC, nor where escapes spell them."""
    if encoding is None:
        return True
    try:
        return _ASCII.decode(encoding) == _ASCII.decode("ascii")
    except (LookupError, UnicodeError, ValueError):
        return False


_ASCII = bytes(byte for byte in range(128) if byte != ord("\\")) + rb"\n+AAo-"


async def _read_here(model: EntityModel, upload: BinaryIO, job: ReadJob) -> "_FoundSheet":
    frames = io.BytesIO()
    await asyncio.to_thread(read_sheet, upload, model, job, frames)
    frames.seek(0)
    sheet = _FoundSheet()
    while (frame := receive(frames))[0] != DONE:
        letter, body = frame
        if letter == READY:
            sheet.header = _header(body)
        elif letter == ROWS:
            sheet.found.append(body)
        elif letter == ERRORS:
            errors = msgspec.json.decode(body, type=Errors)
            sheet.failed, sheet.errors = errors.failed, [*errors.errors]
    return sheet


def _header(body: bytes) -> FileHeader | None:
    return msgspec.json.decode(body, type=FileHeader) if body else None


@dataclass
class _FoundSheet:
    found: list[bytes] = field(default_factory=list)
    header: FileHeader | None = None
    failed: int = 0
    errors: list[RowError] = field(default_factory=list)

    async def rows(self) -> AsyncIterator[bytes]:
        for lines in self.found:
            yield lines


@dataclass
class _ReadSheet:
    process: Process
    header: FileHeader | None = None
    failed: int = 0
    errors: list[RowError] = field(default_factory=list)

    async def loaded(self, entity: Entity) -> None:
        try:
            async with asyncio.timeout(SILENT):
                letter, _ = await _received(self.process)
        # The file was not looked at yet; standard error has the process's own traceback.
        except (asyncio.IncompleteReadError, TimeoutError):
            place = entity.file or entity.module
            raise RuntimeError(f"The process that reads a file could not load {entity.name} of {place}.") from None
        assert letter == LOADED

    async def ready(self) -> None:
        letter, body = await self._received()
        assert letter == READY
        self.header = _header(body)

    async def rows(self) -> AsyncIterator[bytes]:
        while True:
            letter, body = await self._received()
            if letter == ROWS:
                yield body
            elif letter == ERRORS:
                errors = msgspec.json.decode(body, type=Errors)
                self.failed, self.errors = errors.failed, [*errors.errors]
            elif letter == DONE:
                return

    async def _received(self) -> tuple[bytes, bytes]:
        try:
            async with asyncio.timeout(SILENT):
                return await _received(self.process)
        # The file killed its reader, by its limit of memory or CPU as a rule.
        except (asyncio.IncompleteReadError, TimeoutError):
            raise BadRequest(BROKEN) from None


async def _received(process: Process) -> tuple[bytes, bytes]:
    """Next frame of the child process. Raises its refusal, and IncompleteReadError when it has ended."""
    assert process.stdout is not None
    letter, length = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
    body = await process.stdout.readexactly(length)
    if letter == REFUSED:
        raise msgspec.json.decode(body, type=SheetRefusal).raised()
    return letter, body


async def _write(process: Process, job: WriteJob, rows: AsyncIterator[bytes]) -> None:
    """Sends job and rows, and waits until the file is complete. Raises the refusal of the child process."""
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(job) + b"\n")
    # A child process that refuses stops reading: its refusal, read below, is the error, and not the broken pipe.
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
    made.seek(0)
    # Read without a thread: the file was written just now and is in the page cache.
    while piece := made.read(PIECE):
        yield piece


@contextmanager
def _folder() -> Iterator[str]:
    """Folder for the temporary files of a child process."""
    # Removed here and by the child process: whichever of them outlives the other does it.
    made = tempfile.mkdtemp(prefix="tenantry-sheet-")
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@asynccontextmanager
async def _child(module: str, descriptor: int, *more: str) -> AsyncIterator[Process]:
    """Runs a child process with the open file as its own; it ends with the block, or when this process ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        str(descriptor),
        *more,
        stdin=PIPE,
        stdout=PIPE,
        pass_fds=[descriptor],
        env={**_environment(), "PYTHONPATH": os.pathsep.join(folder for folder in sys.path if folder)},
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
    # Without the settings, which hold secrets: a child process parses files of strangers.
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    # A thread per core would have its own buffers, and take the cores from the requests.
    return {**kept, "POLARS_MAX_THREADS": "1", "_RJEM_MALLOC_CONF": _GIVES_BACK}
