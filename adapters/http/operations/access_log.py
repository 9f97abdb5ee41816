"""Line of the access log that each response writes."""

import logging
import re
from collections.abc import Callable
from uuid import UUID

from msgspec import Struct

from domain.identity.service_accounts import CHECKSUM_LENGTH, PREFIX, SECRET_LENGTH, START_LENGTH


class AccessLine(Struct, frozen=True):
    """``took`` is in seconds, up to the answer's last byte; ``refusal`` is the error code of an answer that is one."""

    method: str
    path: str
    status: int
    took: float
    request_id: str
    address: str
    user_id: UUID | None
    operation: str = "nowhere"
    by_key: bool = False
    refusal: str | None = None


AccessLog = Callable[[AccessLine], None]

ANSWERED = "answered"
SHORTEST_KEY = SECRET_LENGTH + CHECKSUM_LENGTH

_KEY = re.compile(rf"{PREFIX}_[0-9A-Za-z]{{{SHORTEST_KEY}}}")

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
            "refusal": line.refusal,
        },
    )


def without_keys(path: str) -> str:
    """The path with API keys cut to what their lists show of them: somebody may have put one there by mistake."""
    if "_" not in path or len(path) < SHORTEST_KEY:
        return path
    return _KEY.sub(lambda found: f"{found[0][:START_LENGTH]}…", path)


def log_nothing(_: AccessLine) -> None:
    """Access log that keeps nothing, for benchmarks and where something in front of the service keeps one."""
