"""Access log entry of a response, for loggers and counters."""

from collections.abc import Callable
from uuid import UUID

from msgspec import Struct


class AccessLine(Struct, frozen=True):
    """An answered request as an access log entry.

    ``took`` is in seconds, up to the answer's last byte; ``refusal`` is an error answer's code.
    """

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

    @property
    def is_probe(self) -> bool:
        """True for a successful health check: an orchestrator sends one every few seconds."""
        return self.operation.startswith("health.") and self.status < 400

    @property
    def fields(self) -> dict[str, object]:
        """Fields of the log entry, by their names there; unprintable characters of a path are escaped."""
        # Security: the path of a linked file is its secret, with any method and ending.
        path = "/files/…" if self.path.startswith("/files/") else self.path
        return {
            "method": self.method,
            "path": path if path.isprintable() else ascii(path),
            "status": self.status,
            "ms": round(self.took * 1000, 2),
            "request_id": self.request_id,
            "address": self.address,
            "user_id": str(self.user_id) if self.user_id else None,
            "refusal": self.refusal,
        }


AccessLog = Callable[[AccessLine], None]
