"""Processes held to a part of a core by control groups, for measuring where the cores of a machine are few."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
PERIOD = 10_000
"""Microseconds. A process that has used its part waits for the next period: it is short, so that waits are."""


@contextmanager
def held(pids: Sequence[int], share: float) -> Iterator[bool]:
    """Holds each process to ``share`` of a core; False where one is gone, or control groups may not be made."""
    groups: dict[int, tuple[Path, Path]] = {}  # the group that each process was in, and its own
    try:
        yield _hold(pids, groups, round(share * PERIOD))
    finally:
        for pid, (before, group) in groups.items():
            with suppress(OSError):  # a process that has ended is in no group
                (before / "cgroup.procs").write_text(str(pid))
            with suppress(OSError):
                group.rmdir()


def _hold(pids: Sequence[int], groups: dict[int, tuple[Path, Path]], quota: int) -> bool:
    try:
        for pid in pids:
            own = _root() / f"tenantry-benchmark-{pid}"
            groups[pid] = (_group_of(pid), own)
            own.mkdir()
            _limit(own, quota)
            (own / "cgroup.procs").write_text(str(pid))
    except OSError:
        return False
    return True


def _limit(group: Path, quota: int) -> None:
    """Writes the quota: to one file in the second version of control groups, to two in the first."""
    if (group / "cpu.max").exists():
        (group / "cpu.max").write_text(f"{quota} {PERIOD}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD))
        (group / "cpu.cfs_quota_us").write_text(str(quota))


def _root() -> Path:
    """The folder of the CPU controller, which the first version of control groups keeps by itself."""
    return GROUPS / "cpu" if (GROUPS / "cpu").is_dir() else GROUPS


def _group_of(pid: int) -> Path:
    """The group that a process is in; the second version has a line without a controller's name."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if ("cpu" in controllers.split(",")) if _root() != GROUPS else not controllers:
            return _root() / path.lstrip("/")
    return _root()
