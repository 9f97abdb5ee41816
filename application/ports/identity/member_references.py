"""References of entities' rows to members of a tenant."""

from datetime import datetime
from typing import Protocol
from uuid import UUID

from application.ports.identity.users import MemberTransaction


class MemberReferences(Protocol):
    """Fields declared with ``member(…)``."""

    async def release(self, user_id: UUID, tenant_id: UUID | None, by: UUID, at: datetime) -> None:
        """Apply ``on_leave`` to the rows that name the member of this tenant, or of every tenant.

        Call it before the membership ends: it locks the membership, so that a concurrent write of a reference waits or
        is seen. ``clear`` sets null, also in deleted rows, raises the version and adds to the history. Raises
        StillReferredTo for ``restrict``; its ``by`` has the ids of tenants.
        """
        ...


class DepartureTransaction(MemberTransaction, Protocol):
    """Database parts for ending memberships."""

    @property
    def member_references(self) -> MemberReferences: ...
