"""Costs of processes, read from /proc, and the cores that they run on."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PROC = Path("/proc")
TICKS = os.sysconf("SC_CLK_TCK")
KIB_IN_MIB = 1024


def tree(root: int) -> list[int]:
    """The process and all of its descendants."""
    children: dict[int, list[int]] = {}
    for pid in _pids():
        children.setdefault(parent(pid), []).append(pid)
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def parent(pid: int) -> int:
    return int(_stat(pid)[1] or 0)


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU seconds in user and system mode, with those of ended children."""
    return sum(sum(map(int, _stat(pid)[11:15])) for pid in pids) / TICKS


def resident_mib(pids: Iterable[int]) -> float:
    """Memory of the largest process, the one that answers requests."""
    return max((_status_kib(pid, "VmRSS:") for pid in pids), default=0) / KIB_IN_MIB


def peak_mib(pids: Iterable[int]) -> float:
    return max((_status_kib(pid, "VmHWM:") for pid in pids), default=0) / KIB_IN_MIB


def cores() -> tuple[list[int], list[int]]:
    """Cores of the server, and cores of load and databases; a single core serves for both."""
    first, *others = sorted(os.sched_getaffinity(0))
    return [first], others or [first]


@contextmanager
def pinned(pid: int, to: Iterable[int]) -> Iterator[bool]:
    """Keeps a process and its descendants to some cores; False where that is not allowed."""
    before = {process: os.sched_getaffinity(process) for process in tree(pid)}
    try:
        for process_id in before:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(process_id, to)
    except PermissionError:
        yield False
        return
    try:
        yield True
    finally:
        widest = set().union(*before.values())
        for process_id in tree(pid):
            with suppress(ProcessLookupError, PermissionError):
                os.sched_setaffinity(process_id, before.get(process_id, widest))


def _pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """Fields of /proc/…/stat after the name, which may contain blanks; zeros for a process that is gone."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["0"] * 50


def _status_kib(pid: int, name: str) -> int:
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0)
