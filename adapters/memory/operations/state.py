"""State of the outbox and of token versions."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from msgspec import Struct

from application.ports.database import Mail


class OutboxMail(Struct, frozen=True, kw_only=True):
    """A mail in the outbox with the state of its delivery."""

    mail: Mail
    number: int
    due_at: datetime
    since: datetime
    tries: int = 0
    given_up_at: datetime | None = None
    why: str = ""


@dataclass(kw_only=True)
class OperationState:
    outbox: dict[UUID, OutboxMail] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    token_versions: dict[str, int] = field(default_factory=dict)
    ended_counts: dict[str, datetime] = field(default_factory=dict)
