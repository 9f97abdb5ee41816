"""Counters of traffic in files, where several processes serve and add up what they count."""

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
    """Counters of all workers of this machine; without a folder for them, those of this process."""
    folder = os.environ.get(SHARED_FOLDER)
    return TrafficCounters() if folder is None else counters_in(Path(folder))


def counters_in(folder: Path) -> TrafficCounters:
    """Counters of all processes that have a file of whole numbers in the folder, as this one has."""
    own = _mapped(folder / f"{os.getpid()}{END}")
    return TrafficCounters(own, lambda: [_read(path) for path in folder.glob(f"*{END}")])


def _mapped(path: Path) -> MutableSequence[int]:
    """Numbers in a file that other processes read: writing one is writing to memory."""
    path.write_bytes(bytes(SLOTS * NUMBER))
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), SLOTS * NUMBER)).cast("q")  # type: ignore[return-value]


def _read(path: Path) -> Sequence[int]:
    """Numbers of another process; one that is just starting has none yet."""
    content = path.read_bytes()
    return array("q", content) if len(content) == SLOTS * NUMBER else no_counts()
