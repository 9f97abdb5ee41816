"""Tables that are partitioned by month: which they are, and how their parts are called.

The key of the parts is the id, whose first 48 bits are the milliseconds since 1970 (UUIDv7): so the primary key stays
``(tenant_id, id)``, and a row is found by its id in one part. See docs/decisions/0193.
"""

import re
from typing import Any

BY_MONTH = frozenset({"audit_events"})

_PART = re.compile(r"^(?:audit_events)_(?:\d{6}|old|rest)$")


def partitioned(table: str) -> dict[str, Any]:
    """Arguments of a ``Table`` that is partitioned; none for others."""
    return {"postgresql_partition_by": "RANGE (id)"} if table in BY_MONTH else {}


def is_name_of_part(table: str) -> bool:
    """Whether a table is a part of another: of a month (``audit_events_202611``), of the time before, or the rest."""
    return _PART.match(table) is not None
