"""Removal of data past its retention."""

from datetime import datetime
from typing import Protocol

from domain.retention import RetentionRule


class Retention(Protocol):
    """Removal of expired data. The caller MUST call both methods in one transaction with the scope of every tenant."""

    async def claim(self) -> bool:
        """Claim the removal of data for this transaction; return False at once if another transaction claimed it."""
        ...

    async def remove(self, rule: RetentionRule, before: datetime, most: int) -> int:
        """Remove and count at most ``most`` rows with a time not after ``before``. Skip locked rows."""
        ...


class RetentionTransaction(Protocol):
    """Transaction for housekeeping."""

    @property
    def retention(self) -> Retention: ...
