"""Images read by child processes, so that a hostile image cannot use the service's memory or crash it."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from adapters.images import UNREADABLE
from application.ports.entities.attachments import ImageUnreadable
from domain.errors import ServiceUnavailable

_ENDS_WITHIN = 15.0
"""Maximum seconds of a child process, several times its CPU time."""


def images_are_installed() -> bool:
    return find_spec("PIL") is not None


@dataclass(frozen=True)
class ProcessImages:
    """Starts a process for each thumbnail."""

    async def thumbnail(self, source: Path, target: Path, box: tuple[int, int]) -> None:
        with source.open("rb") as read, target.open("wb") as made:
            process = await _started(read.fileno(), made.fileno(), box)
            try:
                async with asyncio.timeout(_ENDS_WITHIN):
                    _, errors = await process.communicate()
            except TimeoutError:
                raise ImageUnreadable from None
            finally:
                with suppress(ProcessLookupError):
                    process.kill()
        # A negative status is a signal: the process exceeded its CPU time, or a decoder crashed.
        if process.returncode == UNREADABLE or (process.returncode or 0) < 0:
            raise ImageUnreadable
        if process.returncode:
            raise ServiceUnavailable from RuntimeError(errors.decode(errors="replace")[-2_000:])


async def _started(source: int, target: int, box: tuple[int, int]) -> Process:
    # Security: omit the settings, which contain secrets.
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"{__package__}.child",
        *map(str, (source, target, *box)),
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        pass_fds=[source, target],
        env={**kept, "PYTHONPATH": os.pathsep.join(folder for folder in sys.path if folder)},
    )
