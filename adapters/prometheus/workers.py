"""Processes that serve together on this machine: each has a file in the folder where they add up what they count."""

import os
from contextlib import suppress
from pathlib import Path

END = ".worker"
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Set before the processes start, it is where they add up; without it a process answers for itself."""


class Workers:
    """Processes that serve together, found by their files in ``folder``; without a folder, this process alone."""

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else Path(folder)
        if self._folder is not None:
            (self._folder / f"{os.getpid()}{END}").touch()

    def alive(self) -> list[int]:
        """Ids of the processes; what one that has ended told of its load is forgotten, what it counted is not."""
        from prometheus_client.multiprocess import mark_process_dead  # see PrometheusMetrics

        if self._folder is None:
            return [os.getpid()]
        pids = [int(path.stem) for path in self._folder.glob(f"*{END}")]
        for pid in pids:
            if not _lives(pid):
                mark_process_dead(pid)  # type: ignore[no-untyped-call]
                # another process may have been quicker
                with suppress(FileNotFoundError):
                    (self._folder / f"{pid}{END}").unlink()
        return [pid for pid in pids if _lives(pid)]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # sends nothing
    except ProcessLookupError:
        return False
    return True
