"""Tables that are put into parts by month beside reads and writes.

What is there becomes one part, of all that came before the month after the next: PostgreSQL compares its rows with that
bound while they are read and written, and then takes the part over without reading it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from adapters.postgres.migrations.online.operations import by_itself, is_online
from adapters.postgres.schema.parts import InParts, bound, making, on_table
from adapters.postgres.schema.row_security import grants, policies
from adapters.postgres.schema.sql import DIALECT

# A run that was stopped leaves its bound in force. It lies a month ahead at least, and is made anew where it has come
# nearer since: otherwise the table would be compared with it while it refuses what the service writes.
_BOUND = """
DO $$
DECLARE
    bound text := %(bound)s;
    stopped text;
BEGIN
    IF (SELECT relkind = 'p' FROM pg_class WHERE oid = '%(table)s'::regclass) THEN
        RETURN;
    END IF;
    SELECT pg_get_constraintdef(oid) INTO stopped FROM pg_constraint
    WHERE conrelid = '%(table)s'::regclass AND conname = '%(table)s_bound';
    IF position(bound IN stopped) > 0 THEN
        RETURN;
    END IF;
    ALTER TABLE %(table)s DROP CONSTRAINT IF EXISTS %(table)s_bound;
    EXECUTE format('ALTER TABLE %(table)s ADD CONSTRAINT %(table)s_bound CHECK (%(key)s < %%L) NOT VALID', bound);
END
$$"""

# No version of the service wrote rows that lie behind the bound: those that somebody else put there stop the migration.
_VALIDATE = """
DO $$
BEGIN
    IF (SELECT relkind = 'r' FROM pg_class WHERE oid = '%(table)s'::regclass) THEN
        ALTER TABLE %(table)s VALIDATE CONSTRAINT %(table)s_bound;
    END IF;
END
$$"""
_UNBOUND = "ALTER TABLE %(table)s DROP CONSTRAINT IF EXISTS %(table)s_bound"

_SWAP = """
DO $$
DECLARE
    bound text;
BEGIN
    IF (SELECT relkind = 'p' FROM pg_class WHERE oid = '%(table)s'::regclass) THEN
        RETURN;
    END IF;
    PERFORM set_config('tenantry.scope', 'every', true);
    LOCK TABLE %(table)s IN ACCESS EXCLUSIVE MODE;
    SELECT substring(pg_get_constraintdef(oid) FROM '''([^'']+)''') INTO STRICT bound
    FROM pg_constraint WHERE conrelid = '%(table)s'::regclass AND conname = '%(table)s_bound';
    ALTER TABLE %(table)s RENAME TO %(table)s_old;
    %(aside)s;
    CREATE TABLE %(table)s (LIKE %(table)s_old INCLUDING DEFAULTS) PARTITION BY RANGE (%(key)s);
    %(made)s;
    CREATE TABLE %(table)s_rest PARTITION OF %(table)s DEFAULT;
    IF EXISTS (SELECT FROM %(table)s_old) THEN
        EXECUTE format(
            'ALTER TABLE %(table)s ATTACH PARTITION %(table)s_old FOR VALUES FROM (MINVALUE) TO (%%L)', bound
        );
        ALTER TABLE %(table)s_old DROP CONSTRAINT %(table)s_bound;
    ELSE
        DROP TABLE %(table)s_old;
    END IF;
END
$$"""

_AFTER_NEXT = "(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months')"


def put_into_parts_online(parted: InParts, *, aside: Sequence[str], made: Sequence[str]) -> None:
    """Puts a table of tenants' rows into parts, and can be begun again after a failure.

    ``aside`` are statements that give the keys and indexes of the old table other names, ``made`` those that give the
    new table its own: an index that the old one does not have is built while nobody reads or writes.
    """
    security = [*grants(parted.table), *policies(parted.table)]
    secured = [str(statement.compile(dialect=DIALECT)).strip() for statement in security]
    context = {
        "key": parted.key,
        "bound": bound(parted, _AFTER_NEXT),
        "aside": _in_turn(aside),
        "made": _in_turn([*made, *secured]),
    }
    op.execute(on_table(_BOUND, parted, context))
    _validate(parted, context)
    op.execute(on_table(_SWAP, parted, context))
    op.execute(making(parted))


def _validate(parted: InParts, context: Mapping[str, str]) -> None:
    """Compares all rows with the bound, which is given up where one lies behind it."""
    if not is_online():
        op.execute(on_table(_VALIDATE, parted, context))
        return
    try:
        with by_itself():
            op.execute(on_table(_VALIDATE, parted, context))
    except IntegrityError:
        # whoever wrote that row goes on to, until somebody has decided about it: unless the table is in use, and the
        # bound stays, for the row is what the migration is stopped by
        with suppress(SQLAlchemyError):
            op.execute(on_table(_UNBOUND, parted))
        raise


def is_in_parts(table: str) -> bool:
    """Whether the table is in parts already; False for SQL that is printed, which is for a database where it is not."""
    found = sa.table("pg_class", sa.column("oid"), sa.column("relkind", sa.Text()))
    kind = sa.select(found.c.relkind == "p").where(found.c.oid == sa.func.to_regclass(table))
    return not op.get_context().as_sql and bool(op.get_bind().execute(kind).scalar())


def _in_turn(statements: Sequence[str]) -> str:
    return ";\n    ".join(statements)
