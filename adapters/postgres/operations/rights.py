"""Missing rights of the service's roles on the tables, compared with the migrations' grants, and the statements that
add them.

A database copy has the rights only if the roles exist on its server.
"""

from collections.abc import Iterable, Iterator, Sequence

import sqlalchemy as sa

from adapters.postgres.migrations.pending import MigrationRefused
from adapters.postgres.schema.row_security import GRANT_SCHEMA, GRANT_VERSION, MAKE_ROLE, ROLE, rights_on
from adapters.postgres.schema.row_security_check import OWNER, SUPERUSER, Gap
from adapters.postgres.schema.search import MAKE_SEARCH, SEARCH, reopened, search_function_name
from adapters.postgres.schema.sql import quoted
from domain.entities.declaration import EntityModel, Registry

_ROLES = sa.text("""
    SELECT role, quote_ident(rolname) AS owner, given.oid IS NOT NULL AS is_there,
        coalesce(
            pg_has_role(given.oid, CASE WHEN version >= 160000 THEN 'SET' ELSE 'MEMBER' END), false
        ) AS may_take_on,
        -- since PostgreSQL 16 a role is granted by whoever made it, and by those who were given the option
        rolsuper OR CASE WHEN given.oid IS NULL OR version < 160000 THEN rolcreaterole
            ELSE pg_has_role(given.oid, 'MEMBER WITH ADMIN OPTION') END AS may_grant
    FROM pg_roles, unnest(ARRAY['tenantry_service', 'tenantry_search']) AS role, to_regrole(role) AS given (oid),
        CAST(current_setting('server_version_num') AS integer) AS version
    WHERE rolname = current_user
""")
_RIGHTS = sa.text("""
    SELECT coalesce(has_schema_privilege(to_regrole('tenantry_service'), 'public', 'USAGE'), false) AS may_enter,
        to_regclass('alembic_version') IS NULL
            OR coalesce(
                has_table_privilege(to_regrole('tenantry_service'), to_regclass('alembic_version'), 'SELECT'), false
            ) AS may_read_version
""")
_TABLES = sa.text("""
    SELECT relname::text AS name, ARRAY(
        SELECT word FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS word
        WHERE coalesce(has_table_privilege(to_regrole('tenantry_service'), oid, word), false)
    ) AS allowed
    FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') ORDER BY relname
""")
_SEARCH = sa.text("""
    SELECT nspowner IS NOT DISTINCT FROM to_regrole('tenantry_search')::oid AS is_owner,
        coalesce(has_schema_privilege(to_regrole('tenantry_search'), 'public', 'USAGE'), false) AS may_enter,
        coalesce(has_schema_privilege(to_regrole('tenantry_service'), oid, 'USAGE'), false) AS is_open,
        ARRAY(SELECT proname::text FROM pg_proc WHERE pronamespace = n.oid) AS functions,
        ARRAY(
            SELECT proname::text FROM pg_proc
            WHERE pronamespace = n.oid AND proowner IS NOT DISTINCT FROM to_regrole('tenantry_search')::oid
            AND coalesce(has_function_privilege(to_regrole('tenantry_service'), pg_proc.oid, 'EXECUTE'), false)
        ) AS open_functions,
        ARRAY(
            SELECT c.relname::text FROM pg_policy JOIN pg_class c ON c.oid = polrelid
            WHERE polname = 'searched_rows' AND polroles = ARRAY[to_regrole('tenantry_search')::oid]
        ) AS tables,
        ARRAY(
            SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND attnum > 0
            AND coalesce(has_column_privilege(to_regrole('tenantry_search'), c.oid, attnum, 'SELECT'), false)
        ) AS columns
    FROM pg_namespace n WHERE nspname = 'tenantry_search'
""")
_MAKE = "CREATE ROLE %s NOLOGIN NOSUPERUSER NOBYPASSRLS"
_SEARCH_OWNED = f"ALTER SCHEMA {SEARCH} OWNER TO {SEARCH}"
_SEARCH_OPEN = f"GRANT USAGE ON SCHEMA {SEARCH} TO {ROLE}"
_SEARCH_ENTERS = f"GRANT USAGE ON SCHEMA public TO {SEARCH}"


def missing_rights(connection: sa.Connection, registry: Registry, tables: Iterable[str]) -> Iterator[Gap]:
    """Return missing roles, and missing rights on ``tables`` and on the search indexes."""
    yield from _role_missing(connection, ROLE)
    found = connection.execute(_RIGHTS).mappings().one()
    if not found["may_enter"]:
        yield Gap(f"The role {ROLE} may not use the schema public.", (GRANT_SCHEMA,))
    if not found["may_read_version"]:
        yield Gap(f"The role {ROLE} may not read alembic_version.", (GRANT_VERSION,))
    yield from _on_tables(connection, frozenset(tables))
    yield from _on_searches(connection, registry)


def grant_missing(connection: sa.Connection, registry: Registry, tables: Sequence[str]) -> list[str]:
    """Create missing roles and grant missing rights, as the owner; return a sentence for each.

    Raises MigrationRefused if a superuser has to grant something first.
    """
    missing = list(missing_rights(connection, registry, tables))
    if missing:
        connection.execute(sa.text(MAKE_ROLE))
        if connection.execute(_SEARCH).one_or_none() is not None:
            connection.execute(sa.text(MAKE_SEARCH))
    for gap in missing_rights(connection, registry, tables):
        if gap.by == SUPERUSER:
            raise MigrationRefused(f"{gap} Then run: tenantry migrate")
        for statement in gap.statements:
            connection.exec_driver_sql(statement)
    return [gap.told for gap in missing]


def _role_missing(connection: sa.Connection, role: str) -> Iterator[Gap]:
    found = next(row for row in connection.execute(_ROLES).mappings() if row["role"] == role)
    by = OWNER if found["may_grant"] else SUPERUSER
    member = f"GRANT {role} TO {found['owner']}"
    if by == SUPERUSER and role == ROLE:
        # The owner grants the service's role to the login role.
        member = f"GRANT {role} TO {found['owner']} WITH ADMIN OPTION"
    if not found["is_there"]:
        yield Gap(f"The server does not have the role {role}.", (_MAKE % role, member), by)
    elif not found["may_take_on"]:
        yield Gap(f"The owner {found['owner']} may not take on the role {role}.", (member,), by)


def _on_tables(connection: sa.Connection, tables: frozenset[str]) -> Iterator[Gap]:
    lacking: dict[tuple[str, ...], list[str]] = {}
    for name, allowed in connection.execute(_TABLES):
        wanted = rights_on(name)
        if name in tables and set(wanted) - set(allowed):
            lacking.setdefault(wanted, []).append(name)
    for rights, names in lacking.items():
        words = ", ".join(rights)
        statement = f"GRANT {words} ON {', '.join(map(quoted, names))} TO {ROLE}"
        yield Gap(f"The role {ROLE} lacks rights ({words}) on {', '.join(names)}.", (statement,))


def _on_searches(connection: sa.Connection, registry: Registry) -> Iterator[Gap]:
    """No gaps without a search index: searches are then slower, but correct."""
    found = connection.execute(_SEARCH).mappings().one_or_none()
    if found is None:
        return
    yield from _role_missing(connection, SEARCH)
    if not found["is_owner"]:
        yield Gap(f"The schema {SEARCH} is not of the role {SEARCH}.", (_SEARCH_OWNED,))
    if not found["is_open"]:
        yield Gap(f"The role {ROLE} may not use the schema {SEARCH}.", (_SEARCH_OPEN,))
    if not found["may_enter"]:
        yield Gap(f"The role {SEARCH} may not use the schema public.", (_SEARCH_ENTERS,))
    for model in registry.stored:
        if model.tenant_owned and (fields := _closed_fields(model, found)):
            told = f"The role {SEARCH} lacks its functions, its policy or its rights on {model.table}."
            yield Gap(told, tuple(reopened(model.table, fields)))


def _closed_fields(model: EntityModel, found: sa.RowMapping) -> list[str]:
    """Return the fields with a search function, if the role may not use one of these functions or its columns."""
    functions = {search_function_name(model.table, name): name for name in model.indexed_search}
    made = {name: field for name, field in functions.items() if name in found["functions"]}
    columns = {f"{model.table}.{name}" for name in ("tenant_id", "id", *made.values())}
    is_open = (
        made.keys() <= set(found["open_functions"])
        and model.table in found["tables"]
        and columns <= set(found["columns"])
    )
    return [] if is_open else list(made.values())
