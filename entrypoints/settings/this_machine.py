"""Facts about this machine: its addresses and the processors that this process may use."""

import os
from ipaddress import ip_address
from pathlib import Path

CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Quota of a container with cgroup v2: ``<microseconds> <period>``, or ``max <period>`` without a quota."""


def is_this_machine(host: str | None) -> bool:
    """Return whether data sent to the host stays on this machine. The host None means a Unix socket."""
    if host is None or f".{host.lower()}".endswith(".localhost"):  # RFC 6761
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def usable_processors(quota: Path = CGROUP_QUOTA) -> int:
    """Return the number of processors that this process may use, at least 1: its CPU affinity and container quota."""
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        allowed, period = quota.read_text().split()
        return max(1, min(affinity, int(allowed) // int(period)))
    except (OSError, ValueError):  # no cgroup v2, or no quota
        return affinity
