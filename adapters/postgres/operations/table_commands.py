"""Commands on a whole table, as SQL with its quoted name."""

from adapters.postgres.schema.sql import ASYNCPG_DIALECT, ddl

# SKIP_LOCKED: what a migration or another upkeep holds waits for the next round
CLEAR = "VACUUM (SKIP_LOCKED, ANALYZE) %(fullname)s"
ANALYZE = "ANALYZE (SKIP_LOCKED) %(fullname)s"


def on_table(table: str, command: str, **names: str) -> str:
    """The command with ``%(fullname)s`` for the table, and ``names`` as they stand in SQL for the others."""
    return str(ddl(command, names, table=table).compile(dialect=ASYNCPG_DIALECT))
