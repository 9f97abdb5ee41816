"""Lock of DATA_DIR, which belongs to one process at a time."""

import fcntl
import os
from pathlib import Path

from adapters.embedded.errors import DataDirInUse


def claim(data_dir: Path) -> int:
    """Locks the folder and returns the lock's descriptor, to be closed in the end. Raises DataDirInUse."""
    # flock, and not the existence of a file: the kernel releases it however this process ends.
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 32).decode().strip()
        os.close(lock)
        raise DataDirInUse(data_dir, holder) from None
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    return lock
