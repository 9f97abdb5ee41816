"""The second wall: the role that the service runs as sees the rows of its connection's scope only.

The scope is the setting ``tenantry.scope``: a tenant's id, ``every``, or nothing, which shows nothing.
"""

from collections.abc import Iterator

ROLE = "tenantry_service"
EVERY = "every"
APPEND_ONLY = frozenset({"audit_events", "row_history"})

SHARED_BY_ALL = frozenset({"roles", "row_history"})
"""Their rows without a tenant are everybody's to read, and written under ``every`` alone, but for ADDED_BY_ALL."""

ADDED_BY_ALL = frozenset({"row_history"})
"""What is shared is written in a tenant, by who may, and its history with it."""

_SETTING = "current_setting('tenantry.scope', true)"
_IS_EVERY = f"(SELECT {_SETTING} = '{EVERY}')"
_TENANT = f"(SELECT nullif(nullif({_SETTING}, ''), '{EVERY}')::uuid)"
_IN_SCOPE = f"({_IS_EVERY} OR tenant_id = {_TENANT})"


def grants(table: str) -> Iterator[str]:
    """What the role may do; to the audit trail and to histories it can only add."""
    rights = "SELECT, INSERT" if table in APPEND_ONLY else "SELECT, INSERT, UPDATE, DELETE"
    yield f"REVOKE ALL ON {table} FROM {ROLE}"
    yield f"GRANT {rights} ON {table} TO {ROLE}"


def policies(table: str) -> Iterator[str]:
    """Forced, so that the owner is held by it as well."""
    yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
    yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
    yield f"CREATE POLICY tenant_rows ON {table} USING ({_IN_SCOPE}) WITH CHECK ({_IN_SCOPE})"
    if table in SHARED_BY_ALL:
        yield f"CREATE POLICY shared_rows ON {table} FOR SELECT USING (tenant_id IS NULL)"
    if table in ADDED_BY_ALL:
        yield f"CREATE POLICY added_rows ON {table} FOR INSERT WITH CHECK (tenant_id IS NULL)"


def role() -> str:
    """Made once for all databases of a cluster; those that make it at once agree, whoever comes second."""
    return f"""
DO $$
BEGIN
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}') THEN
            CREATE ROLE {ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS;
        END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    BEGIN
        SET LOCAL ROLE {ROLE};
        RESET ROLE;
    EXCEPTION WHEN insufficient_privilege THEN
        EXECUTE format('GRANT {ROLE} TO %I', current_user);
    END;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}' AND (rolsuper OR rolbypassrls)) THEN
        RAISE EXCEPTION 'The role {ROLE} is a superuser or passes row-level security: it must not.';
    END IF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE EXCEPTION 'The service needs the role {ROLE}, which % may not make or take on.', current_user
        USING HINT = format('Let a superuser run: CREATE ROLE {ROLE} NOLOGIN; GRANT {ROLE} TO %I;', current_user);
END
$$"""
