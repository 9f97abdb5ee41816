"""Comparison of a database's row-level security with what migrations have set up; own queries rely on it alone."""

from collections import Counter
from collections.abc import Collection, Iterator

import sqlalchemy as sa
from msgspec import Struct

from adapters.postgres.schema.row_security import ADDED_BY_ALL, ROLE, SHARED_BY_ALL

WITHOUT = frozenset({"sessions"})
"""Tables with ``tenant_id`` that hold rows of users, of whatever tenant."""

_SEARCHES = "searched_rows"
"""Policy of the role that looks through indexes of searches, which reads no values."""

_FOUND = sa.text("""
    SELECT c.relname::text AS name, c.relispartition AS is_part, coalesce(parent.relname, c.relname)::text AS whole,
        c.relrowsecurity AND c.relforcerowsecurity AS is_secured,
        ARRAY(SELECT polname::text FROM pg_policy WHERE polrelid = c.oid ORDER BY polname) AS policies,
        (SELECT concat_ws(' / ', pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
            FROM pg_policy WHERE polrelid = c.oid AND polname = 'tenant_rows') AS condition,
        coalesce(has_table_privilege(to_regrole(:role), c.oid, 'SELECT'), false) AS may_read,
        coalesce(has_table_privilege(to_regrole(:role), c.oid, 'TRUNCATE'), false) AS may_truncate
    FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
    LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid LEFT JOIN pg_class AS parent ON parent.oid = i.inhparent
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
    ORDER BY c.relname
""")


class _Table(Struct, frozen=True):
    """A table, or a part of the table ``whole``; ``whole`` is its own name where it is no part."""

    name: str
    is_part: bool
    whole: str
    is_secured: bool
    policies: list[str]
    condition: str | None
    may_read: bool
    may_truncate: bool


def gaps(connection: sa.Connection, tables: Collection[str]) -> Iterator[str]:
    """Sentences about tables of ``tables``, and parts of tables, that show or lose rows of other tenants."""
    found = [_Table(**row) for row in connection.execute(_FOUND, {"role": ROLE}).mappings()]
    held = [table for table in found if table.whole in tables and table.name not in WITHOUT]
    conditions = Counter(table.condition for table in held if table.condition)
    usual = conditions.most_common(1)[0][0] if conditions else None
    for table in held:
        if not table.is_secured:
            yield f"Row-level security of {table.name} is off, or does not hold its owner."
        if table.condition != usual:
            yield f"The policy tenant_rows of {table.name} is missing, or is not that of the other tables."
        for policy in sorted(set(table.policies) - _expected(table.whole)):
            yield f"The policy {policy} of {table.name} is not declared, and may show rows of other tenants."
        if table.is_part and table.may_read:
            yield f"The role {ROLE} may read {table.name} by itself, and not through its table alone."
        if table.may_truncate:
            yield f"The role {ROLE} may empty {table.name} (TRUNCATE), whatever its rows' tenants."


def _expected(table: str) -> set[str]:
    named = {"shared_rows": table in SHARED_BY_ALL, "added_rows": table in ADDED_BY_ALL}
    return {"tenant_rows", _SEARCHES, *(name for name, is_there in named.items() if is_there)}
