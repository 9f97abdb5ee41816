"""The machine's clock, and UUIDv7 ids by its time."""

from datetime import UTC, datetime
from uuid import UUID

from uuid_utils.compat import uuid7


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class Uuid7Ids:
    def new(self) -> UUID:
        return uuid7()
