"""Load of a process: what its adapters know of themselves at any moment, for the operator's metrics."""

from collections.abc import Callable

from msgspec import Struct


class PoolLoad(Struct, frozen=True, kw_only=True):
    """Connections of a process to the database, and the requests that wait for one."""

    in_use: int = 0
    idle: int = 0
    most: int = 0
    waiting: int = 0


class HashLoad(Struct, frozen=True, kw_only=True):
    """Password hashes that are computed, those that wait, and all that were refused since the start."""

    running: int = 0
    waiting: int = 0
    most_waiting: int = 0
    refused: int = 0


class ReplicaLoad(Struct, frozen=True, kw_only=True):
    """Read replicas that the process reads from now. ``left_out`` are those that it would like to and may not;
    ``lag`` is of the one that is furthest behind, in seconds."""

    in_rotation: int = 0
    left_out: int = 0
    lag: float = 0.0


class Loads(Struct, frozen=True):
    """Functions that tell the load of the adapters."""

    pool: Callable[[], PoolLoad]
    hashes: Callable[[], HashLoad]
    replicas: Callable[[], ReplicaLoad] = ReplicaLoad
