"""Commands on a whole table, as SQL with its quoted name."""

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

# SKIP_LOCKED: what a migration or another upkeep holds waits for the next round
CLEAR = "VACUUM (SKIP_LOCKED, ANALYZE) %(fullname)s"
ANALYZE = "ANALYZE (SKIP_LOCKED) %(fullname)s"


def on_table(table: str, command: str, **names: str) -> str:
    """The command with ``%(fullname)s`` for the table, and ``names`` as they stand in SQL for the others."""
    made = sa.DDL(command, context=names).against(sa.Table(table, sa.MetaData()))  # type: ignore[no-untyped-call]
    return str(made.compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call]
