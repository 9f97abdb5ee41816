"""Slots for exports and imports: limited per process, shared fairly by tenants and users."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

from domain.errors import RateLimited
from domain.scope import Caller

# Each transfer holds a database connection.
AT_ONCE = 8
"""Maximum number of concurrent exports and imports per process."""
TENANTS_SHARE = 4
"""A tenant may hold a quarter of the slots, rounded up."""
OF_A_USER = 2
RETRY_AFTER = 10
"""Seconds before a caller without a slot may retry: most files need less."""


@dataclass
class TransferSlots:
    """Counter of running transfers per process, tenant and user."""

    total: int = AT_ONCE
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
        if self._taken[caller.user_id] >= OF_A_USER:
            raise RateLimited(RETRY_AFTER, f"You have {OF_A_USER} exports and imports running: wait for one to end.")
        if self._taken[caller.tenant_id] >= of_a_tenant:
            told = f"Your tenant has {of_a_tenant} exports and imports running: wait for one to end."
            raise RateLimited(RETRY_AFTER, told)
        if self._inside >= self.total:
            raise RateLimited(RETRY_AFTER, "Too many exports and imports are running: try again shortly.")
