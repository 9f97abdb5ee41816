"""Parts of the audit trail by month: made ahead of time, and dropped whole when they are past their retention.

Only the owner of the table may do either. What no part takes lies in ``audit_events_rest``, so that no event is ever
refused; its rows, and those from before the trail had parts, are deleted one by one.
"""

from datetime import datetime
from typing import TYPE_CHECKING

import asyncpg

if TYPE_CHECKING:
    Connection = asyncpg.Connection[asyncpg.Record]
else:  # generic in its stubs alone
    Connection = asyncpg.Connection

# A part is made beside the trail and attached: neither readers nor writers of other parts wait. It has the trail's
# policy, because a backup by an owner without rights of its own reads the parts themselves. What is in the way (a part
# of another bound, rows in the rest, somebody's lock) leaves the month to the rest, or to the next turn.
_MAKE = """
DO $$
DECLARE
    month timestamp;
    part text;
    low text;
    high text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('tenantry.parts', 0));
    FOR ahead IN 0..3 LOOP
        month := date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead);
        part := 'audit_events_' || to_char(month, 'YYYYMM');
        CONTINUE WHEN to_regclass(part) IS NOT NULL;
        low := lpad(to_hex((1000 * extract(epoch FROM month))::bigint), 12, '0') || repeat('0', 20);
        high := lpad(to_hex((1000 * extract(epoch FROM month + interval '1 month'))::bigint), 12, '0')
            || repeat('0', 20);
        BEGIN
            PERFORM set_config('lock_timeout', '500ms', true);
            EXECUTE format('CREATE TABLE %I (LIKE audit_events INCLUDING ALL)', part);
            EXECUTE format('REVOKE ALL ON %I FROM PUBLIC, tenantry_service', part);
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
            EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
            EXECUTE format('CREATE POLICY tenant_rows ON %I
            USING (
                (SELECT current_setting(''tenantry.scope'', true) = ''every'')
                OR tenant_id = (
                    SELECT nullif(nullif(current_setting(''tenantry.scope'', true), ''''), ''every'')::uuid)
            )
            WITH CHECK (
                (SELECT current_setting(''tenantry.scope'', true) = ''every'')
                OR tenant_id = (
                    SELECT nullif(nullif(current_setting(''tenantry.scope'', true), ''''), ''every'')::uuid)
            )', part);
            EXECUTE format(
                'ALTER TABLE audit_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                part, low::uuid, high::uuid
            );
        EXCEPTION WHEN invalid_object_definition OR check_violation OR lock_not_available THEN NULL;
        END;
    END LOOP;
END
$$"""

# The bounds of a part as ids, and whether all that it takes is older than $1; a part without a lower bound holds what
# was there before, the rest has no bounds.
_PARTS = """
SELECT name, low, high, coalesce(
    to_timestamp(('x' || left(replace(high::text, '-', ''), 12))::bit(48)::bigint / 1000.0) <= $1, false) AS is_over
FROM (
    SELECT c.relname::text AS name,
        substring(pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \\(''([0-9a-f-]{36})''\\)')::uuid AS low,
        substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''([0-9a-f-]{36})''\\)')::uuid AS high
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'audit_events'::regclass) parts
ORDER BY high, name"""
_NUMBER = """
SELECT count(*) FROM audit_events
WHERE id >= coalesce($1::uuid, '00000000-0000-0000-0000-000000000000') AND id < $2"""
_DROP = "SELECT format('DROP TABLE %I', $1::text)"
# Readers and writers wait behind a drop that waits for a reader: it gives up soon, and is tried again an hour later.
_SOON = "SELECT set_config('lock_timeout', '500ms', false)"

# Tenant by tenant, by the index of the trail's order; tenants are never deleted for good.
_DELETE = """
WITH gone AS (
    DELETE FROM audit_events d USING (
        SELECT old.tenant_id, old.id FROM tenants t CROSS JOIN LATERAL (
            SELECT e.tenant_id, e.id FROM audit_events e
            WHERE e.tenant_id = t.id AND e.occurred_at <= $1 AND e.tableoid = ANY ($3::text[]::regclass[]::oid[])
            ORDER BY e.occurred_at, e.id LIMIT $2) AS old
        LIMIT $2) AS old
    WHERE d.tenant_id = old.tenant_id AND d.id = old.id
    RETURNING 1)
SELECT count(*) FROM gone"""


async def make_parts(connection: Connection) -> None:
    """Makes the parts of this month and the next three, where they are not there."""
    await connection.execute(_MAKE)


async def forget(connection: Connection, before: datetime, most: int) -> int:
    """Drops parts that ended by ``before``, or deletes up to ``most`` rows that lie in no month's part.

    Returns the number of rows that are gone. A part that somebody reads for longer than half a second stays for the
    next turn.
    """
    await connection.execute(_SOON)
    parts = await connection.fetch(_PARTS, before)
    gone = 0
    for part in parts:
        if part["is_over"]:
            gone += await _drop(connection, part)
    whole = [part["name"] for part in parts if part["low"] is None and not part["is_over"]]
    deleted: int = await connection.fetchval(_DELETE, before, most, whole)
    return gone + deleted


async def _drop(connection: Connection, part: asyncpg.Record) -> int:
    number: int = await connection.fetchval(_NUMBER, part["low"], part["high"])
    try:
        await connection.execute(await connection.fetchval(_DROP, part["name"]))
    except asyncpg.LockNotAvailableError:
        return 0
    return number
