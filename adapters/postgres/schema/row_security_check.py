"""Check of a database's row-level security against the migrations.

A project's own queries depend only on row-level security.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

import sqlalchemy as sa
from msgspec import Struct

from adapters.postgres.schema.row_security import (
    ADDED_BY_ALL,
    ONLY_EVERY,
    ROLE,
    SHARED_BY_ALL,
    policy_of_every,
    switched_on,
    tenant_rows,
)
from adapters.postgres.schema.sql import one_line, quoted

WITHOUT = frozenset({"sessions"})
"""Tables with ``tenant_id`` that hold users' rows, of any tenant."""

_SEARCHES = "searched_rows"
"""Policy of the role that searches through indexes and reads no values."""

_OF_SUBQUERIES = re.compile(r'SELECT|AS "nullif"|[()\s]')

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
    """Table or partition; ``whole`` is the partitioned table, or the table itself."""

    name: str
    is_part: bool
    whole: str
    is_secured: bool
    policies: list[str]
    condition: str | None
    may_read: bool
    may_truncate: bool


OWNER, SUPERUSER = "the owner of the tables", "a superuser"
"""Roles that may close a gap."""


class Gap(Struct, frozen=True):
    """Missing row-level security that migrations set up, and the statements that role ``by`` must run to add it."""

    told: str
    statements: tuple[str, ...]
    by: str = OWNER

    @property
    def mend(self) -> str:
        return " ".join(f"{statement};" for statement in self.statements)

    def __str__(self) -> str:
        return f"{self.told} As {self.by}, run: {self.mend}"


def gaps(connection: sa.Connection, tables: Collection[str]) -> Iterator[Gap]:
    """Return gaps in the row-level security of ``tables`` and their partitions."""
    found = [_Table(**row) for row in connection.execute(_FOUND, {"role": ROLE}).mappings()]
    held = [table for table in found if table.whole in tables and table.name not in WITHOUT]
    conditions = Counter(_bare(table.condition) for table in held if table.condition)
    usual = conditions.most_common(1)[0][0] if conditions else None
    for table in held:
        name, on = table.name, quoted(table.name)
        if not table.is_secured:
            yield Gap(f"Row-level security of {name} is off, or does not hold its owner.", _sql(switched_on(name)))
        if table.condition is None or _bare(table.condition) != usual:
            told = f"The policy tenant_rows of {name} is missing, or is not that of the other tables."
            yield Gap(told, _sql(tenant_rows(name)))
        for policy in sorted(set(table.policies) - _expected(table.whole)):
            told = f"The policy {policy} of {name} is not declared, and may show rows of other tenants."
            yield Gap(told, (f"DROP POLICY {quoted(policy)} ON {on}",))
        if table.is_part and table.may_read:
            told = f"The role {ROLE} may read {name} by itself, and not through its table alone."
            yield Gap(told, (f"REVOKE ALL ON {on} FROM {ROLE}",))
        if table.may_truncate:
            told = f"The role {ROLE} may empty {name} (TRUNCATE), whatever its rows' tenants."
            yield Gap(told, (f"REVOKE TRUNCATE ON {on} FROM {ROLE}",))


def _bare(condition: str) -> str:
    """Return the condition without its subqueries, which Citus does not allow."""
    return _OF_SUBQUERIES.sub("", condition)


def _sql(statements: Iterable[sa.ExecutableDDLElement]) -> tuple[str, ...]:
    return tuple(map(one_line, statements))


def _expected(table: str) -> set[str]:
    named = {"shared_rows": table in SHARED_BY_ALL, "added_rows": table in ADDED_BY_ALL}
    limited = map(policy_of_every, ONLY_EVERY.get(table, ()))
    return {"tenant_rows", _SEARCHES, *limited, *(name for name, is_there in named.items() if is_there)}
