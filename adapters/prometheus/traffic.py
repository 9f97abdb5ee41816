"""Counters of traffic in files, summed over several serving processes."""

import mmap
import os
from array import array
from collections.abc import MutableSequence, Sequence
from pathlib import Path

from adapters.prometheus.workers import SHARED_FOLDER
from application.operations.traffic import SLOTS, TrafficCounters, no_counts

END = ".traffic"
NUMBER = 8  # bytes


def shared_counters() -> TrafficCounters:
    """Return the counters of all workers on this machine; without a shared folder, the counters of this process."""
    folder = os.environ.get(SHARED_FOLDER)
    return TrafficCounters() if folder is None else counters_in(Path(folder))


def counters_in(folder: Path) -> TrafficCounters:
    """Return the counters of all processes with a counter file in the folder."""
    own = _mapped(folder / f"{os.getpid()}{END}")
    return TrafficCounters(own, lambda: [_read(path) for path in folder.glob(f"*{END}")])


def _mapped(path: Path) -> MutableSequence[int]:
    """Create a file of counters and map it into memory; other processes read the file."""
    path.write_bytes(bytes(SLOTS * NUMBER))
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), SLOTS * NUMBER)).cast("q")  # type: ignore[return-value]


def _read(path: Path) -> Sequence[int]:
    """Read the counters of another process; return none while that process starts."""
    content = path.read_bytes()
    return array("q", content) if len(content) == SLOTS * NUMBER else no_counts()
