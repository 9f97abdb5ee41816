"""The audit trail in parts by month, beside reads and writes: an old part is dropped, and no row of it deleted.

What is there becomes one part, of all that came before the month after the next: PostgreSQL compares its rows with that
bound while they are read and written, and then takes the part over without reading it.
"""

import sqlalchemy as sa
from alembic import op

from adapters.postgres.migrations.online.operations import by_itself, is_online

revision = "0071"
down_revision = "0069"
online = True

# A UUIDv7 begins with the milliseconds since 1970: ids of a month lie between those of its first and the next's.
_BOUND = """
DO $$
BEGIN
    IF (SELECT relkind = 'p' FROM pg_class WHERE oid = 'audit_events'::regclass) OR EXISTS (
        SELECT FROM pg_constraint WHERE conrelid = 'audit_events'::regclass AND conname = 'audit_events_bound'
    ) THEN
        RETURN;
    END IF;
    EXECUTE format(
        'ALTER TABLE audit_events ADD CONSTRAINT audit_events_bound CHECK (id < %L::uuid) NOT VALID',
        lpad(to_hex((1000 * extract(epoch FROM
            date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months'))::bigint), 12, '0')
        || repeat('0', 20)
    );
END
$$"""

# No version of the service made ids that lie behind the bound: rows that somebody else put there stop the migration.
_VALIDATE = """
DO $$
BEGIN
    IF (SELECT relkind = 'r' FROM pg_class WHERE oid = 'audit_events'::regclass) THEN
        ALTER TABLE audit_events VALIDATE CONSTRAINT audit_events_bound;
    END IF;
END
$$"""

_SWAP = """
DO $$
DECLARE
    bound uuid;
    first_month timestamp;
    low uuid;
    high uuid;
    part text;
BEGIN
    IF (SELECT relkind = 'p' FROM pg_class WHERE oid = 'audit_events'::regclass) THEN
        RETURN;
    END IF;
    PERFORM set_config('tenantry.scope', 'every', true);
    LOCK TABLE audit_events IN ACCESS EXCLUSIVE MODE;
    SELECT substring(pg_get_constraintdef(oid) FROM '''([0-9a-f-]{36})''')::uuid INTO STRICT bound
    FROM pg_constraint WHERE conrelid = 'audit_events'::regclass AND conname = 'audit_events_bound';
    ALTER TABLE audit_events RENAME TO audit_events_old;
    ALTER TABLE audit_events_old RENAME CONSTRAINT pk_audit_events TO pk_audit_events_old;
    ALTER INDEX ix_audit_events_order RENAME TO ix_audit_events_old_order;
    CREATE TABLE audit_events (LIKE audit_events_old INCLUDING DEFAULTS) PARTITION BY RANGE (id);
    ALTER TABLE audit_events ADD CONSTRAINT pk_audit_events PRIMARY KEY (tenant_id, id);
    CREATE INDEX ix_audit_events_order ON audit_events (tenant_id, occurred_at, id);
    ALTER TABLE audit_events ENABLE ROW LEVEL SECURITY;
    ALTER TABLE audit_events FORCE ROW LEVEL SECURITY;
    CREATE POLICY tenant_rows ON audit_events
    USING (
        (SELECT current_setting('tenantry.scope', true) = 'every')
        OR tenant_id = (SELECT nullif(nullif(current_setting('tenantry.scope', true), ''), 'every')::uuid)
    )
    WITH CHECK (
        (SELECT current_setting('tenantry.scope', true) = 'every')
        OR tenant_id = (SELECT nullif(nullif(current_setting('tenantry.scope', true), ''), 'every')::uuid)
    );
    REVOKE ALL ON audit_events FROM tenantry_service;
    GRANT SELECT, INSERT ON audit_events TO tenantry_service;
    CREATE TABLE audit_events_rest PARTITION OF audit_events DEFAULT;
    IF EXISTS (SELECT FROM audit_events_old) THEN
        EXECUTE format(
            'ALTER TABLE audit_events ATTACH PARTITION audit_events_old FOR VALUES FROM (MINVALUE) TO (%L)', bound
        );
        ALTER TABLE audit_events_old DROP CONSTRAINT audit_events_bound;
        low := bound;
        first_month := to_timestamp(
            ('x' || left(replace(bound::text, '-', ''), 12))::bit(48)::bigint / 1000.0) AT TIME ZONE 'UTC';
    ELSE
        DROP TABLE audit_events_old;
        first_month := date_trunc('month', now() AT TIME ZONE 'UTC');
        low := (lpad(to_hex((1000 * extract(epoch FROM first_month))::bigint), 12, '0') || repeat('0', 20))::uuid;
    END IF;
    FOR ahead IN 0..3 LOOP
        part := 'audit_events_' || to_char(first_month + make_interval(months => ahead), 'YYYYMM');
        high := (lpad(to_hex((1000 * extract(epoch FROM
            first_month + make_interval(months => ahead + 1)))::bigint), 12, '0') || repeat('0', 20))::uuid;
        EXECUTE format('CREATE TABLE %I PARTITION OF audit_events FOR VALUES FROM (%L) TO (%L)', part, low, high);
        low := high;
    END LOOP;
    FOR part IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'audit_events'::regclass LOOP
        EXECUTE format('REVOKE ALL ON %s FROM PUBLIC, tenantry_service', part);
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', part);
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', part);
        -- A backup by an owner without rights of its own reads the parts themselves: without a policy, no row.
        CONTINUE WHEN EXISTS (
            SELECT FROM pg_policy WHERE polrelid = part::regclass AND polname = 'tenant_rows');
        EXECUTE format('CREATE POLICY tenant_rows ON %s
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
    END LOOP;
END
$$"""


def upgrade() -> None:
    op.execute(sa.text(_BOUND))
    if is_online():
        with by_itself():
            op.execute(sa.text(_VALIDATE))
    else:
        op.execute(sa.text(_VALIDATE))
    op.execute(sa.text(_SWAP))
