"""Serving processes of this machine: each has a file in the folder where they sum their counters."""

import os
from contextlib import suppress
from pathlib import Path

END = ".worker"
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Folder where the processes sum their counters, set before they start; without it a process reports only itself."""


class Workers:
    """Serving processes, found by their files in ``folder``; without a folder, only this process."""

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            (self._folder / f"{os.getpid()}{END}").touch()

    def alive(self) -> list[int]:
        """Return the ids of the live processes. The load of an ended process is dropped; its counters remain."""
        from prometheus_client.multiprocess import mark_process_dead

        if self._folder is None:
            return [os.getpid()]
        pids = [int(path.stem) for path in self._folder.glob(f"*{END}")]
        for pid in pids:
            if not _lives(pid):
                mark_process_dead(pid)  # type: ignore[no-untyped-call]
                # another process may have removed it
                with suppress(FileNotFoundError):
                    (self._folder / f"{pid}{END}").unlink()
        return [pid for pid in pids if _lives(pid)]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return False
    return True
