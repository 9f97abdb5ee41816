"""Shares of rows: a member who may update a row lets other members see or update it."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from msgspec import Struct

from application.ports.database import Database
from application.ports.entities.records import Act
from application.ports.entities.shares import Share, ShareTransaction
from application.ports.runtime import Clock
from application.retry import retry_on_conflict
from domain.entities.declaration import EntityModel
from domain.entities.owning import MOST_SHARES, ShareLevel
from domain.entities.query.query import WHOLE
from domain.errors import Forbidden, NotFound, QuotaExceeded, ValidationError
from domain.scope import Caller, Client, OneTenant, event


class Sharer(Struct, frozen=True):
    """The caller, with the rows within the caller's limits."""

    caller: Caller
    scope: OneTenant
    client: Client


@dataclass(frozen=True)
class Sharing:
    """Shares of a row that the caller may update. The permissions were checked before."""

    database: Database[ShareTransaction]
    clock: Clock

    async def of(self, sharer: Sharer, model: EntityModel, row_id: UUID) -> Sequence[Share]:
        async with self.database.transaction(sharer.scope) as tx:
            await _ensure_may_update(tx, model, row_id, locked=False)
            return await tx.shares.of(model, row_id)

    @retry_on_conflict
    async def put(self, sharer: Sharer, model: EntityModel, row_id: UUID, user_id: UUID, level: ShareLevel) -> Share:
        """Share the row, or change the level of a share.

        Raises ValidationError for a user who is not a member, and QuotaExceeded above ``MOST_SHARES``.
        """
        # Security: both levels let the user read the row, so the caller must be allowed to read it.
        sharer.caller.ensure_may(*model.permissions("read"))
        async with self.database.transaction(sharer.scope) as tx:
            # The lock also lets concurrent requests count each other's shares.
            await _ensure_may_update(tx, model, row_id, locked=True)
            if user_id == sharer.caller.user_id:
                raise ValidationError.on("userId", "is your own id: name another member")
            levels = {share.user_id: share.level for share in await tx.shares.of(model, row_id)}
            act = Act(sharer.caller.user_id, self.clock.now())
            share = await tx.shares.put(model, row_id, user_id, level, act)
            if share is None:
                raise ValidationError.on("userId", "is not a member of this tenant")
            if user_id not in levels and len(levels) >= MOST_SHARES:
                raise QuotaExceeded(f"A row has at most {MOST_SHARES} shares.")
            if levels.get(user_id) != level:
                action = f"row.shared:{model.plural}:{row_id}:{level}"
                await tx.audit.add(sharer.scope.id, event(action, act.by, user_id, sharer.client, act.at))
            return share

    @retry_on_conflict
    async def remove(self, sharer: Sharer, model: EntityModel, row_id: UUID, user_id: UUID) -> None:
        async with self.database.transaction(sharer.scope) as tx:
            await _ensure_may_update(tx, model, row_id, locked=True)
            act = Act(sharer.caller.user_id, self.clock.now())
            if not await tx.shares.remove(model, row_id, user_id, act):
                raise NotFound
            action = f"row.unshared:{model.plural}:{row_id}"
            await tx.audit.add(sharer.scope.id, event(action, sharer.caller.user_id, user_id, sharer.client, act.at))


async def _ensure_may_update(tx: ShareTransaction, model: EntityModel, row_id: UUID, *, locked: bool) -> None:
    """Raise NotFound for a row that the caller does not see, and Forbidden for one that they may not update."""
    if await tx.records.current(model, [row_id], locked=locked):
        return
    raise NotFound if await tx.records.get(model, row_id, WHOLE) is None else Forbidden
