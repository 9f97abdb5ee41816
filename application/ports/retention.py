"""Taking away what is kept only for a while, some at a time."""

from datetime import datetime
from typing import Protocol

from domain.retention import RetentionRule


class Retention(Protocol):
    """Both are called in one transaction, whose scope is every tenant."""

    async def claim(self) -> bool:
        """Whether this transaction alone takes away; False, at once, while another one does."""
        ...

    async def remove(self, what: RetentionRule, before: datetime, most: int) -> int:
        """Those whose time is ``before`` or earlier; answers how many. Rows that others work on wait for next time."""
        ...


class RetentionTransaction(Protocol):
    """The room of the database that housekeeping works in."""

    @property
    def retention(self) -> Retention: ...
