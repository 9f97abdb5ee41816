"""Load of a process for operators' metrics; the process's adapters can report it at any moment."""

from collections.abc import Callable, Mapping

from msgspec import Struct


class PoolLoad(Struct, frozen=True, kw_only=True):
    """Database connections of a process, and requests waiting for one."""

    in_use: int = 0
    idle: int = 0
    most: int = 0
    waiting: int = 0


class HashLoad(Struct, frozen=True, kw_only=True):
    """Password hashes in computation, waiting, and refused since the start."""

    running: int = 0
    waiting: int = 0
    most_waiting: int = 0
    refused: int = 0


class ReplicaLoad(Struct, frozen=True, kw_only=True):
    """Read replicas that the process uses. ``left_out`` counts replicas that are unavailable or too far behind; ``lag``
    is the largest lag, in seconds.
    """

    in_rotation: int = 0
    left_out: int = 0
    lag: float = 0.0


class FileLoad(Struct, frozen=True, kw_only=True):
    """Thumbnails that wait, and counts since the start: bytes to and from the store, its errors, refused uploads.

    ``refusals`` are by error code.
    """

    thumbnails_waiting: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    store_errors: int = 0
    refusals: Mapping[str, int] = {}


class Loads(Struct, frozen=True):
    """Functions that report the load of the adapters."""

    pool: Callable[[], PoolLoad]
    hashes: Callable[[], HashLoad]
    replicas: Callable[[], ReplicaLoad] = ReplicaLoad
