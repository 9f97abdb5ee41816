"""Tables partitioned by month or day: their list, partition names, and the statements that create partitions.

An id as key is a UUIDv7. Its first 48 bits are the milliseconds since 1970. So the primary key stays unchanged, and an
id leads to one partition. See docs/decisions/0014.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import sqlalchemy as sa
from msgspec import Struct

from adapters.postgres.schema.sql import ddl
from domain.retention import DatedRecords


class InParts(Struct, frozen=True, kw_only=True):
    """A partitioned table."""

    table: str
    every: Literal["month", "day"] = "month"
    key: str
    """Partition key: a UUIDv7, or a time."""
    is_id: bool
    age: str
    """Column for the age of rows in the default partition, with an index that finds the oldest."""
    is_by_tenant: bool
    """Whether that index begins with the tenant."""


IN_PARTS: Mapping[DatedRecords, InParts] = MappingProxyType(
    {
        DatedRecords.EVENTS: InParts(table="audit_events", key="id", is_id=True, age="occurred_at", is_by_tenant=True),
        DatedRecords.HISTORIES: InParts(table="row_history", key="at", is_id=False, age="at", is_by_tenant=False),
        DatedRecords.CHANGES: InParts(
            table="changes",
            every="day",
            key="sequenced_at",
            is_id=False,
            age="sequenced_at",
            is_by_tenant=False,
        ),
    }
)

BY_TABLE: Mapping[str, InParts] = MappingProxyType({parted.table: parted for parted in IN_PARTS.values()})

_PART = re.compile(r"^(\w+)_(?:\d{6}(?:\d{2})?|rest)$")
_PICTURES = {"month": "YYYYMM", "day": "YYYYMMDD"}
_AHEAD = {"month": "3", "day": "7"}
_ID_OF = "(lpad(to_hex((1000 * extract(epoch FROM %(moment)s))::bigint), 12, '0') || repeat('0', 20))::uuid"


def partitioned(table: str) -> dict[str, Any]:
    """Return arguments of a partitioned ``Table``; none for others."""
    return {"postgresql_partition_by": f"RANGE ({BY_TABLE[table].key})"} if table in BY_TABLE else {}


def is_name_of_part(table: str) -> bool:
    """Return whether a table is a partition of another: of a month (``audit_events_202611``) or day, or the default."""
    found = _PART.match(table)
    return found is not None and found[1] in BY_TABLE


# Create a partition separately, then attach it, so that readers and writers do not wait. On an obstacle (a partition
# with another bound, rows in the default, a lock), the default partition or the next round covers that time. The
# service uses partitions only through their table. They have its policies, because a backup by an unprivileged owner
# reads them directly.
_MAKE = """
DO $$
DECLARE
    begins timestamp;
    ends timestamp;
    part text;
    policy record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('tenantry.parts', 0));
    FOR ahead IN 0..%(ahead)s LOOP
        begins := date_trunc('%(every)s', now() AT TIME ZONE 'UTC') + ahead * interval '1 %(every)s';
        ends := begins + interval '1 %(every)s';
        part := '%(table)s_' || to_char(begins, '%(picture)s');
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
            EXECUTE format('CREATE POLICY %%I ON %%s AS ', policy.policyname, part)
                || policy.permissive || ' FOR ' || policy.cmd
                || coalesce(' USING (' || policy.qual || ')', '')
                || coalesce(' WITH CHECK (' || policy.with_check || ')', '');
        END LOOP;
    END LOOP;
END
$$"""


def making(parted: InParts) -> sa.ExecutableDDLElement:
    """Return the statement to create partitions for four months or eight days, and to close all to the service."""
    every = {"every": parted.every, "picture": _PICTURES[parted.every], "ahead": _AHEAD[parted.every]}
    return on_table(_MAKE, parted, {"low": bound(parted, "begins"), "high": bound(parted, "ends"), **every})


def bound(parted: InParts, moment: str) -> str:
    """Return SQL of a partition bound, from SQL of a UTC timestamp."""
    sql = _ID_OF if parted.is_id else "%(moment)s AT TIME ZONE 'UTC'"
    return sql % {"moment": moment}


def on_table(
    statement: str, parted: InParts, context: Mapping[str, str] = MappingProxyType({})
) -> sa.ExecutableDDLElement:
    """Return the statement with the names of ``context`` and ``%(table)s``; write a literal percent sign twice."""
    return ddl(statement, {"table": parted.table, **context})
