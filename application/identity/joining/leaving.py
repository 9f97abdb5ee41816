"""The end of memberships: what becomes of rows that name the member."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from application.entities.checks.deletions import naming
from application.identity.joining.departures import Departures
from application.ports.identity.member_references import DepartureTransaction
from domain.errors import Conflict, Referrer, StillReferredTo
from domain.scope import Caller, Rights


@dataclass(frozen=True)
class MemberDepartures(Departures):
    """Departures of members; ``readable`` selects the referrers that a caller may see."""

    readable: Callable[[Rights, list[Referrer]], list[Referrer]]

    async def release(
        self, tx: DepartureTransaction, caller: Caller, user_id: UUID, tenant_id: UUID | None, now: datetime
    ) -> None:
        """Apply ``on_leave`` to rows that name the member of this tenant, or of every tenant.

        Call it after all other checks. Raises Conflict for ``restrict``; it names only entities that the caller may
        read, in the caller's tenant.
        """
        try:
            await tx.member_references.release(user_id, tenant_id, caller.user_id, now)
        except StillReferredTo as error:
            seen = error.by.keys() if caller.is_super_admin else {caller.tenant_id}
            referrers = [each for tenant, found in error.by.items() if tenant in seen for each in found]
            raise Conflict(naming(self.readable(caller.rights, referrers))) from None
