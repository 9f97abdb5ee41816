"""Tables in parts by month: which they are, how their parts are called, and the statements that make parts.

Where the key is an id, it is a UUIDv7, whose first 48 bits are the milliseconds since 1970: so the primary key stays as
it is, and a row is found by its id in one part. See docs/decisions/0014.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sqlalchemy as sa
from msgspec import Struct

from adapters.postgres.schema.sql import ddl
from domain.retention import DatedRecords


class InParts(Struct, frozen=True, kw_only=True):
    """A table in parts, each of a month."""

    table: str
    key: str
    """Column of the parts' bounds: a UUIDv7, or a time."""
    is_id: bool
    age: str
    """Column by which rows outside the parts of the calendar end, with an index that finds the oldest of them."""
    is_by_tenant: bool
    """Whether that index begins with the tenant."""


IN_PARTS: Mapping[DatedRecords, InParts] = MappingProxyType(
    {
        DatedRecords.EVENTS: InParts(table="audit_events", key="id", is_id=True, age="occurred_at", is_by_tenant=True),
        DatedRecords.HISTORIES: InParts(table="row_history", key="at", is_id=False, age="at", is_by_tenant=False),
    }
)

BY_TABLE: Mapping[str, InParts] = MappingProxyType({parted.table: parted for parted in IN_PARTS.values()})

_PART = re.compile(r"^(\w+)_(?:\d{6}|rest)$")
_ID_OF = "(lpad(to_hex((1000 * extract(epoch FROM %(moment)s))::bigint), 12, '0') || repeat('0', 20))::uuid"


def partitioned(table: str) -> dict[str, Any]:
    """Arguments of a ``Table`` that is in parts; none for others."""
    return {"postgresql_partition_by": f"RANGE ({BY_TABLE[table].key})"} if table in BY_TABLE else {}


def is_name_of_part(table: str) -> bool:
    """Whether a table is a part of another: of a month (``audit_events_202611``), or the rest."""
    found = _PART.match(table)
    return found is not None and found[1] in BY_TABLE


# A part is made beside the table and attached: neither readers nor writers of other parts wait. What is in the way (a
# part of another bound, rows in the rest, somebody's lock) leaves the time to the rest, or to the next turn. The
# service reaches parts through their table alone; they have its policies, because a backup by an owner without rights
# of its own reads the parts themselves.
_MAKE = """
DO $$
DECLARE
    begins timestamp;
    ends timestamp;
    part text;
    policy record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('tenantry.parts', 0));
    FOR ahead IN 0..3 LOOP
        begins := date_trunc('month', now() AT TIME ZONE 'UTC') + ahead * interval '1 month';
        ends := begins + interval '1 month';
        part := '%(table)s_' || to_char(begins, 'YYYYMM');
        CONTINUE WHEN to_regclass(part) IS NOT NULL;
        BEGIN
            PERFORM set_config('lock_timeout', '500ms', true);
            EXECUTE format('CREATE TABLE %%I (LIKE %(table)s INCLUDING ALL)', part);
            EXECUTE format(
                'ALTER TABLE %(table)s ATTACH PARTITION %%I FOR VALUES FROM (%%L) TO (%%L)', part, %(low)s, %(high)s
            );
        EXCEPTION WHEN invalid_object_definition OR check_violation OR lock_not_available THEN NULL;
        END;
    END LOOP;
    FOR part IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = '%(table)s'::regclass LOOP
        IF EXISTS (
            SELECT FROM pg_class, aclexplode(relacl)
            WHERE oid = part::regclass AND grantee IN (0, 'tenantry_service'::regrole)
        ) THEN
            EXECUTE format('REVOKE ALL ON %%s FROM PUBLIC, tenantry_service', part);
        END IF;
        IF (SELECT relrowsecurity FROM pg_class WHERE oid = '%(table)s'::regclass)
            AND NOT (SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = part::regclass)
        THEN
            EXECUTE format('ALTER TABLE %%s ENABLE ROW LEVEL SECURITY', part);
            EXECUTE format('ALTER TABLE %%s FORCE ROW LEVEL SECURITY', part);
        END IF;
        FOR policy IN
            SELECT * FROM pg_policies p WHERE p.tablename = '%(table)s' AND p.schemaname = current_schema()
            AND NOT EXISTS (SELECT FROM pg_policy o WHERE o.polrelid = part::regclass AND o.polname = p.policyname)
        LOOP
            EXECUTE format('CREATE POLICY %%I ON %%s FOR %%s', policy.policyname, part, policy.cmd)
                || coalesce(' USING (' || policy.qual || ')', '')
                || coalesce(' WITH CHECK (' || policy.with_check || ')', '');
        END LOOP;
    END LOOP;
END
$$"""


def making(parted: InParts) -> sa.ExecutableDDLElement:
    """Makes the parts of this month and the next three where they are missing, and closes all parts to the service."""
    return on_table(_MAKE, parted, {"low": bound(parted, "begins"), "high": bound(parted, "ends")})


def bound(parted: InParts, moment: str) -> str:
    """SQL of a bound of parts, for SQL of a timestamp in UTC."""
    sql = _ID_OF if parted.is_id else "%(moment)s AT TIME ZONE 'UTC'"
    return sql % {"moment": moment}


def on_table(
    statement: str, parted: InParts, context: Mapping[str, str] = MappingProxyType({})
) -> sa.ExecutableDDLElement:
    """The statement with the names of ``context`` and ``%(table)s``; a percent sign of its own is written twice."""
    return ddl(statement, {"table": parted.table, **context})
