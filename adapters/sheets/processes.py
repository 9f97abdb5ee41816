"""Files read and written by child processes, so that the service does not need their CPU time and memory."""

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
"""Bytes and lines of a file that is read faster than a process starts, even with an error in every line."""
ENDS_WITHIN = 5.0
SILENT = 120.0
"""Maximum seconds between two frames of a child process: several times the need of a file's largest piece."""
BROKEN = "The file cannot be read: it needs too much memory or time, or it is damaged."
_GIVES_BACK = "narenas:1,dirty_decay_ms:0,muzzy_decay_ms:0,retain:false"
"""Jemalloc setting in polars: return free memory at once instead of retaining 60 MiB."""
_WRITERS: dict[BuiltForm, str] = {"xlsx": "writer", "parquet": "parquet_writer"}


@dataclass(frozen=True)
class ProcessSheets:
    """Reads small files in a thread of the service, and processes all others in a child process."""

    # One file at a time: two threads would block the event loop for twice as long.
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
    """Return whether the file is short text; archives and Parquet can inflate."""
    upload.seek(0)
    start = upload.read(SMALL + 1)
    upload.seek(0)
    if len(start) > SMALL or start.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR")):
        return False
    if start.endswith((b"PAR1", b"PARE")):  # a Parquet file with damaged first bytes
        return False
    return max(start.count(b"\n"), start.count(b"\r")) <= FEW


def shows_its_lines(encoding: str | None) -> bool:
    """Return whether line-feed bytes separate the text's lines: not in EBCDIC or escape-based encodings."""
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
        # The file is not yet read; standard error has the process's traceback.
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
        # The child process exceeded a limit, usually of memory or CPU time, because of the file.
        except (asyncio.IncompleteReadError, TimeoutError):
            raise BadRequest(BROKEN) from None


async def _received(process: Process) -> tuple[bytes, bytes]:
    """Next frame. Raises the child's refusal, or IncompleteReadError at its end."""
    assert process.stdout is not None
    letter, length = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
    body = await process.stdout.readexactly(length)
    if letter == REFUSED:
        raise msgspec.json.decode(body, type=SheetRefusal).raised()
    return letter, body


async def _write(process: Process, job: WriteJob, rows: AsyncIterator[bytes]) -> None:
    """Send job and rows, and await the file. Raises the child's refusal."""
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(job) + b"\n")
    # A refusing child process stops reading. Report its refusal, read below, instead of the broken pipe.
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
    # Read without a thread: the new file is in the page cache.
    while piece := made.read(PIECE):
        yield piece


@contextmanager
def _folder() -> Iterator[str]:
    """Temporary folder of a child process."""
    # The service and the child process both remove the folder, because either may end first.
    made = tempfile.mkdtemp(prefix="tenantry-sheet-")
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@asynccontextmanager
async def _child(module: str, descriptor: int, *more: str) -> AsyncIterator[Process]:
    """Run a child process that inherits the open file and ends with the block or this process."""
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
    # Security: omit the settings, which contain secrets. The child process parses untrusted files.
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
    # More threads would need buffers and use the requests' cores.
    return {**kept, "POLARS_MAX_THREADS": "1", "_RJEM_MALLOC_CONF": _GIVES_BACK}
