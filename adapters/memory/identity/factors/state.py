"""State of second factors."""

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from application.ports.identity.factors import Factor


@dataclass(kw_only=True)
class FactorState:
    factors: dict[UUID, Factor] = field(default_factory=dict)
    recovery_codes: dict[tuple[UUID, bytes], datetime | None] = field(default_factory=dict)
    passkey_handles: dict[UUID, bytes] = field(default_factory=dict)
