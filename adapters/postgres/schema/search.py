"""Index search: trigrams of the search fields, and functions that query them for one tenant.

Under row-level security, PostgreSQL uses an index only for leakproof operators, and LIKE is not leakproof. So a
function for each search field, such as ``tenantry_search."products.name"``, queries the index with the rights of the
role ``tenantry_search``. The policy of this role is ``true``, so row-level security does not prevent index use. The
function adds the tenant of the setting ``tenantry.scope``, accepts a pattern and a bound, and returns only ids.
Decision 0016 has the reasons.

SQLAlchemy lacks constructs for these DDL statements. They are literals with quoted names from ``ddl``.
"""

from collections.abc import Iterator, Mapping, Sequence

import sqlalchemy as sa

from adapters.postgres.schema.sql import ddl, one_line, quoted, short_name, without_case

SEARCH = "tenantry_search"
"""Name of the role that owns the search functions, and of their schema."""

MOST_FOUND = 10_000
"""Maximum number of ids that a function returns, for any given bound."""

# Since PostgreSQL 13 the database owner may create these extensions. Without them, searches run without an index.
MAKE_SEARCH = """
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE EXTENSION IF NOT EXISTS btree_gin;
    -- A cluster has the role once for all its databases: migrations that run at once may both try to make it.
    BEGIN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'tenantry_search') THEN
            CREATE ROLE tenantry_search NOLOGIN NOSUPERUSER NOBYPASSRLS;
        END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
    END;
    BEGIN
        SET LOCAL ROLE tenantry_search;
        RESET ROLE;
    EXCEPTION WHEN insufficient_privilege THEN
        EXECUTE format('GRANT tenantry_search TO %I', current_user);
    END;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tenantry_search' AND (rolsuper OR rolbypassrls OR rolcanlogin))
    THEN
        RAISE EXCEPTION 'The role tenantry_search may log in or passes row-level security: it must not.';
    END IF;
    CREATE SCHEMA IF NOT EXISTS tenantry_search AUTHORIZATION tenantry_search;
    GRANT USAGE ON SCHEMA tenantry_search TO tenantry_service;
    GRANT USAGE ON SCHEMA public TO tenantry_search;
EXCEPTION WHEN undefined_file OR feature_not_supported OR insufficient_privilege OR invalid_schema_name THEN
    RAISE NOTICE 'Searches read all rows of a tenant: pg_trgm, btree_gin or the role tenantry_search cannot be made.';
END
$$"""

# Citus propagates functions to its nodes, and fails for a dot in their names.
IS_POSSIBLE = """
SELECT to_regnamespace('tenantry_search') IS NOT NULL
    AND (SELECT count(*) = 2 FROM pg_extension WHERE extname IN ('pg_trgm', 'btree_gin'))
    AND NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"""

# The function returns null for more rows than the bound, or without a single tenant. The settings allow only bitmap
# scans, because others would not use the trigram index. They also force a plan per call, because a cached plan does not
# know the pattern. The variables contain a blank, unlike field names.
_FUNCTION = """
CREATE OR REPLACE FUNCTION tenantry_search.%(function)s("the pattern" text, "the bound" integer) RETURNS uuid[]
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off
SET enable_indexscan = off
SET enable_indexonlyscan = off
AS $$
DECLARE
    "the tenant" uuid := nullif(nullif(current_setting('tenantry.scope', true), ''), 'every')::uuid;
    "the ids" uuid[];
BEGIN
    IF "the tenant" IS NULL THEN
        RETURN NULL;
    END IF;
    "the bound" := least(greatest("the bound", 0), %(bound)s);
    SELECT array_agg(f.id) INTO "the ids" FROM (
        SELECT t.id FROM public.%(fullname)s t
        WHERE t.tenant_id = "the tenant" AND %(expression)s LIKE "the pattern" LIMIT "the bound" + 1
    ) f;
    IF cardinality("the ids") > "the bound" THEN
        RETURN NULL;
    END IF;
    RETURN coalesce("the ids", '{}');
END
$$"""
_RIGHTS = (
    "ALTER FUNCTION tenantry_search.%(function)s(text, integer) OWNER TO tenantry_search",
    "REVOKE ALL ON FUNCTION tenantry_search.%(function)s(text, integer) FROM PUBLIC",
    "GRANT EXECUTE ON FUNCTION tenantry_search.%(function)s(text, integer) TO tenantry_service",
)
_NO_FUNCTION = "DROP FUNCTION IF EXISTS tenantry_search.%(function)s(text, integer)"
_CLOSED = (
    "REVOKE ALL ON %(fullname)s FROM tenantry_search",
    "DROP POLICY IF EXISTS searched_rows ON %(fullname)s",
)
_OPENED = (
    "GRANT SELECT (tenant_id, id, %(columns)s) ON %(fullname)s TO tenantry_search",
    "CREATE POLICY searched_rows ON %(fullname)s FOR SELECT TO tenantry_search USING (true)",
)


def search_index_name(table: str) -> str:
    return short_name("ix", table, "search")


def search_function_name(table: str, field: str) -> str:
    """Return the name of a field's search function in its schema: ``products.name``."""
    return short_name(f"{table}.{field}")


def search_keys(fields: Sequence[str], *, by_tenant: bool) -> list[str]:
    """Return the keys of the index, as PostgreSQL shows them."""
    return [*(["tenant_id"] if by_tenant else []), *(without_case(quoted(name)) for name in fields)]


def search_index(table: str, fields: Sequence[str], *, by_tenant: bool, beside: bool) -> sa.Index:
    """Return the index on a separate table: the entities' MetaData omits it, because some servers cannot have it.

    ``beside``: builds it online.
    """
    made = sa.Table(table, sa.MetaData(), sa.Column("tenant_id", sa.Uuid()))
    owner = [made.c.tenant_id] if by_tenant else []
    keys: list[sa.ColumnElement[str]] = [
        sa.literal_column(without_case(quoted(name))).label(f"key {name}") for name in fields
    ]
    return sa.Index(
        search_index_name(table),
        *owner,
        *keys,
        _table=made,
        postgresql_using="gin",
        postgresql_ops={f"key {name}": "gin_trgm_ops" for name in fields},
        postgresql_concurrently=beside,
    )


def opened(table: str, fields: Sequence[str]) -> Iterator[sa.ExecutableDDLElement]:
    """Yield statements that create the fields' search functions and grant the rights that the functions need."""
    for field in fields:
        named = {
            "function": _function(table, field),
            "expression": without_case(f"t.{quoted(field)}"),
            "bound": MOST_FOUND,
        }
        yield from _on(table, (_FUNCTION, *_RIGHTS), named)
    yield from _on(table, (*_CLOSED, *_OPENED), {"columns": ", ".join(map(quoted, fields))})


def reopened(table: str, fields: Sequence[str]) -> Iterator[str]:
    """Yield statements that restore the role's functions, rights and policy."""
    for field in fields:
        yield from map(one_line, _on(table, _RIGHTS, {"function": _function(table, field)}))
    yield from map(one_line, _on(table, (*_CLOSED, *_OPENED), {"columns": ", ".join(map(quoted, fields))}))


def closed(table: str) -> Iterator[sa.ExecutableDDLElement]:
    yield from _on(table, _CLOSED, {})


def without_function(table: str, field: str) -> sa.ExecutableDDLElement:
    return next(_on(table, (_NO_FUNCTION,), {"function": _function(table, field)}))


def _function(table: str, field: str) -> str:
    return quoted(search_function_name(table, field))


def _on(table: str, statements: Sequence[str], context: Mapping[str, object]) -> Iterator[sa.ExecutableDDLElement]:
    return (ddl(statement, context, table=table) for statement in statements)
