"""Row-level security: the service's role sees only the rows of its connection's scope.

The scope is the setting ``tenantry.scope``: a tenant's id, or ``every``. A policy raises without it, so that
a statement without a scope does not look like one that found nothing.

SQLAlchemy lacks constructs for these DDL statements. They are literals; ``ddl`` replaces ``%(fullname)s`` with the
quoted name of the table.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import sqlalchemy as sa

from adapters.postgres.schema.parts import BY_TABLE
from adapters.postgres.schema.sql import ddl

ROLE = "tenantry_service"
EVERY = "every"
APPEND_ONLY = frozenset(BY_TABLE)
"""Partitioned tables, with append-only records."""

SHARED_BY_ALL = frozenset({"roles", "row_history", "changes", "feed_heads"})
"""Tables with rows of no tenant: all scopes read them, and only ``every`` writes them, except for ADDED_BY_ALL."""

ADDED_BY_ALL = frozenset({"row_history", "change_queue"})
"""Tables to which a tenant's connection may add rows of no tenant: records of a shared row that it may write."""

ONLY_EVERY: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "change_queue": ("SELECT", "UPDATE", "DELETE"),
        "changes": ("INSERT", "UPDATE", "DELETE"),
        "feed_heads": ("INSERT", "UPDATE", "DELETE"),
    }
)
"""Commands that need the scope ``every``: no tenant's connection numbers, changes or deletes entries of the log."""
_RIGHTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(APPEND_ONLY, ("SELECT", "INSERT")),
        "change_queue": ("SELECT", "INSERT", "DELETE"),
        "feed_heads": ("SELECT", "INSERT", "UPDATE"),
        "service_epoch": ("SELECT",),
    }
)
_ALL_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")

_REVOKE, _GRANT = (
    "REVOKE ALL ON %(fullname)s FROM tenantry_service",
    "GRANT %(rights)s ON %(fullname)s TO tenantry_service",
)
_SWITCHED_ON = (
    "ALTER TABLE %(fullname)s ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE %(fullname)s FORCE ROW LEVEL SECURITY",  # applies to the owner too
)
_SCOPE = "current_setting('tenantry.scope')"
_IS_EVERY, _TENANT = f"{_SCOPE} = 'every'", f"nullif({_SCOPE}, 'every')::uuid"
# A subquery makes the planner read the setting once, not for each row.
SEES = f"(SELECT {_IS_EVERY}) OR tenant_id = (SELECT {_TENANT})"
"""Condition of the policy ``tenant_rows``. It also raises for an empty setting, as after ``SET LOCAL``: no UUID."""

SEES_ON_NODE = f"{_IS_EVERY} OR tenant_id = {_TENANT}"
"""``SEES`` for Citus, which allows no subqueries in policies: it reads the setting for each row."""

SEES_ALL = f"(SELECT {_TENANT} IS NULL)"
"""Condition of the policies of the scope ``every``."""

_TENANT_ROWS = f"CREATE POLICY tenant_rows ON %(fullname)s USING ({SEES}) WITH CHECK ({SEES})"
_SHARED = "CREATE POLICY shared_rows ON %(fullname)s FOR SELECT USING (tenant_id IS NULL)"
_ADDED = "CREATE POLICY added_rows ON %(fullname)s FOR INSERT WITH CHECK (tenant_id IS NULL)"

MAKE_ROLE = """
DO $$
BEGIN
    -- A cluster has the role once for all its databases: migrations that run at once may both try to make it.
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tenantry_service') THEN
            CREATE ROLE tenantry_service NOLOGIN NOSUPERUSER NOBYPASSRLS;
        END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    BEGIN
        SET LOCAL ROLE tenantry_service;
        RESET ROLE;
    EXCEPTION WHEN insufficient_privilege THEN
        EXECUTE format('GRANT tenantry_service TO %I', current_user);
    END;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tenantry_service' AND (rolsuper OR rolbypassrls)) THEN
        RAISE EXCEPTION 'The role tenantry_service is a superuser or passes row-level security: it must not.';
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE EXCEPTION 'The service needs the role tenantry_service, which % may not make or take on.', current_user
        USING ERRCODE = 'insufficient_privilege', HINT = format(
            CASE WHEN to_regrole('tenantry_service') IS NULL
                THEN 'Let a superuser run: CREATE ROLE tenantry_service NOLOGIN; GRANT tenantry_service TO %1$I'
                ELSE 'Let a superuser run: GRANT tenantry_service TO %1$I WITH ADMIN OPTION'
            END,
            current_user
        );
END
$$"""
GRANT_SCHEMA = "GRANT USAGE ON SCHEMA public TO tenantry_service"
GRANT_VERSION = "GRANT SELECT ON alembic_version TO tenantry_service"


def grants(table: str) -> Iterator[sa.ExecutableDDLElement]:
    """Yield the grants of the role on a table. In the audit trail and in histories, the role can only add rows."""
    yield ddl(_REVOKE, table=table)
    yield ddl(_GRANT, {"rights": ", ".join(rights_on(table))}, table=table)


def rights_on(table: str) -> tuple[str, ...]:
    """Return the privileges of the service's role on a table."""
    return _RIGHTS.get(table, _ALL_RIGHTS)


def policies(table: str) -> Iterator[sa.ExecutableDDLElement]:
    """Yield statements that limit the role to the rows of its scope, in a table with the column ``tenant_id``."""
    yield from _on(table, (*_SWITCHED_ON, _TENANT_ROWS))
    if table in SHARED_BY_ALL:
        yield from _on(table, (_SHARED,))
    if table in ADDED_BY_ALL:
        yield from _on(table, (_ADDED,))
    for command in ONLY_EVERY.get(table, ()):
        check = "WITH CHECK" if command == "INSERT" else "USING"
        name = policy_of_every(command)
        text = f"CREATE POLICY {name} ON %(fullname)s AS RESTRICTIVE FOR {command} {check} ({SEES_ALL})"
        yield from _on(table, (text,))


def policy_of_every(command: str) -> str:
    """Return the name of the policy that limits a command to the scope ``every``."""
    return f"every_{command.lower()}"


def switched_on(table: str) -> Iterator[sa.ExecutableDDLElement]:
    """Yield statements that enable row-level security, also for the owner."""
    yield from _on(table, _SWITCHED_ON)


def tenant_rows(table: str) -> Iterator[sa.ExecutableDDLElement]:
    """Yield statements that replace the policy ``tenant_rows``."""
    yield from _on(table, ("DROP POLICY IF EXISTS tenant_rows ON %(fullname)s", _TENANT_ROWS))


def _on(table: str, statements: tuple[str, ...]) -> Iterator[sa.ExecutableDDLElement]:
    return (ddl(statement, table=table) for statement in statements)
