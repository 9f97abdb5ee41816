"""Removal of data past its retention."""

from datetime import datetime
from typing import Protocol

from domain.retention import RetentionRule


class Retention(Protocol):
    """Removal of data by age; both methods are called in one transaction with the scope of every tenant."""

    async def claim(self) -> bool:
        """Whether this transaction may remove data; False, without waiting, while another one does."""
        ...

    async def remove(self, rule: RetentionRule, before: datetime, most: int) -> int:
        """Removes and counts at most ``most`` rows whose time is not after ``before``. Locked rows are skipped."""
        ...


class RetentionTransaction(Protocol):
    """Parts of the database that housekeeping needs."""

    @property
    def retention(self) -> Retention: ...
