"""Finds pg_dump and pg_restore of a version that fits a server."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

INSTALLED = Path("/usr/lib/postgresql")
"""Folder of Debian and Ubuntu with the programs of each version; the PATH has at most a wrapper."""


class NoProgram(Exception):
    """No program fits the server; the message lists the installed ones."""


async def fitting_program(name: str, major: int, folders: Sequence[Path]) -> Path:
    """Return the program of the server's version, or the next newer one: an older program cannot read the server.

    Searches ``folders`` before the PATH. Raises NoProgram.
    """
    found = {path: version for path in _candidates(name, folders) if (version := await _major(path)) is not None}
    fitting = [path for path, version in found.items() if version >= major]
    if not fitting:
        there = ", ".join(f"{path} of version {version}" for path, version in found.items()) or "none"
        raise NoProgram(
            f"The server is PostgreSQL {major}, and {name} of that version or a newer one is needed; there is {there}. "
            f"Install the client programs of PostgreSQL {major} (on Debian: postgresql-client-{major}). An image has"
            " them if it was built with --build-arg BACKUP=yes."
        )
    # Newer programs may write a format that older servers do not understand.
    return min(fitting, key=lambda path: found[path])


def _candidates(name: str, folders: Sequence[Path]) -> Iterable[Path]:
    on_path = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    for folder in (*folders, *on_path, *sorted(INSTALLED.glob("*/bin"))):
        if os.access(folder / name, os.X_OK):
            yield folder / name


async def _major(path: Path) -> int | None:
    process = await asyncio.create_subprocess_exec(
        path, "--version", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    async with ended(process):
        said, _ = await process.communicate()
    found = re.search(rb"PostgreSQL\) (\d+)", said)
    return int(found[1]) if found and not process.returncode else None


@asynccontextmanager
async def ended(process: asyncio.subprocess.Process) -> AsyncIterator[None]:
    """Terminate the process and wait for it if it is still running after the block."""
    try:
        yield
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            # Read the pipe to its end; otherwise the program would block and not end.
            await process.communicate()
