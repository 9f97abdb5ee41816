"""Shares of rows: each names one member, who then sees the row, or may also update it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from application.ports.database import AuditTrail
from application.ports.entities.records import Act, Records
from domain.entities.declaration import EntityModel
from domain.entities.owning import ShareLevel


class Share(Struct, frozen=True, rename="camel"):
    """A member's share of a row, with the member's name."""

    user_id: UUID
    full_name: str
    level: ShareLevel
    created_at: datetime
    created_by: UUID | None


class RowShares(Protocol):
    """Shares of the rows of one tenant. The caller MUST check before that the row exists."""

    async def of(self, model: EntityModel, row_id: UUID) -> Sequence[Share]:
        """Return the row's shares, the oldest first."""
        ...

    async def put(self, model: EntityModel, row_id: UUID, user_id: UUID, level: ShareLevel, act: Act) -> Share | None:
        """Add the share, or change its level only; return None if the user is not a member of the tenant."""
        ...

    async def remove(self, model: EntityModel, row_id: UUID, user_id: UUID, act: Act) -> bool:
        """Return whether there was a share. An entity with a feed logs a new share and its end."""
        ...


class ShareTransaction(Protocol):
    """Transaction for shares."""

    @property
    def records(self) -> Records: ...
    @property
    def shares(self) -> RowShares: ...
    @property
    def audit(self) -> AuditTrail: ...
