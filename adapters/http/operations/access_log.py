"""One line for every answer."""

import logging
from collections.abc import Callable
from uuid import UUID

from msgspec import Struct


class AccessLine(Struct, frozen=True):
    """``took`` is in seconds, up to the answer's last byte."""

    method: str
    path: str
    status: int
    took: float
    request_id: str
    address: str
    user_id: UUID | None
    operation: str = "nowhere"


AccessLog = Callable[[AccessLine], None]

ANSWERED = "answered"

log = logging.getLogger(__name__)


def log_access(line: AccessLine) -> None:
    if not log.isEnabledFor(logging.INFO):
        return
    log.info(
        ANSWERED,
        extra={
            "method": line.method,
            "path": line.path if line.path.isprintable() else ascii(line.path),
            "status": line.status,
            "ms": round(line.took * 1000, 2),
            "request_id": line.request_id,
            "address": line.address,
            "user_id": str(line.user_id) if line.user_id else None,
        },
    )


def log_nothing(_: AccessLine) -> None:
    """For benchmarks, and where something in front of the service keeps the log."""
