"""Slots for transfers: limited per process, shared fairly by tenants and users."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from msgspec import Struct

from domain.errors import RateLimited
from domain.scope import Caller

# Each transfer holds a database connection.
AT_ONCE = 8
"""Maximum number of concurrent exports and imports per process."""
TENANTS_SHARE = 4
"""A tenant may hold a quarter of the slots, rounded up."""
OF_A_USER = 2
UPLOADS_AT_ONCE = 32
"""Maximum number of concurrent uploads of files per process. They wait for clients, and hold no connection."""
UPLOADS_OF_A_USER = 4
RETRY_AFTER = 10
"""Seconds before a caller without a slot may retry: most files need less."""


class Refusals(Struct, frozen=True):
    """Error messages: a user, a tenant and the process have no slot left."""

    of_user: str
    of_tenant: str
    of_process: str


TRANSFERS = Refusals(
    "You have {} exports and imports running: wait for one to end.",
    "Your tenant has {} exports and imports running: wait for one to end.",
    "Too many exports and imports are running: try again shortly.",
)
UPLOADS = Refusals(
    "You have {} uploads running: wait for one to end.",
    "Your tenant has {} uploads running: wait for one to end.",
    "Too many uploads are running: try again shortly.",
)


@dataclass
class TransferSlots:
    """Counter of running transfers per process, tenant and user."""

    total: int = AT_ONCE
    of_a_user: int = OF_A_USER
    refusals: Refusals = TRANSFERS
    _taken: Counter[UUID | None] = field(default_factory=Counter)
    _inside: int = 0

    @contextmanager
    def taken(self, caller: Caller) -> Iterator[None]:
        """Hold a slot for the block. Raises RateLimited if the caller has too many."""
        # Refuse instead of queueing: a transfer may last longer than clients wait.
        self._ensure_free(caller)
        whose = (caller.tenant_id, caller.user_id)
        self._inside += 1
        self._taken.update(whose)
        try:
            yield
        finally:
            self._inside -= 1
            self._taken.subtract(whose)
            self._taken = +self._taken

    def _ensure_free(self, caller: Caller) -> None:
        of_a_tenant = max(1, -(-self.total // TENANTS_SHARE))
        if self._taken[caller.user_id] >= self.of_a_user:
            raise RateLimited(RETRY_AFTER, self.refusals.of_user.format(self.of_a_user))
        if self._taken[caller.tenant_id] >= of_a_tenant:
            raise RateLimited(RETRY_AFTER, self.refusals.of_tenant.format(of_a_tenant))
        if self._inside >= self.total:
            raise RateLimited(RETRY_AFTER, self.refusals.of_process)
