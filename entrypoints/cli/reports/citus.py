"""``tenantry schema citus``: SQL for distributing a database's tables."""

from adapters.postgres.schema.citus import obstacles, statements
from domain.entities.declaration import Registry
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import MIGRATIONS, CommandError


def report(registry: Registry) -> str:
    """Return the SQL statements, one per line. Raises CommandError if Citus would refuse them."""
    if found := obstacles(registry):
        lines = "\n".join(f"  - {sentence}" for sentence in found)
        raise CommandError(
            f"Citus cannot distribute what is declared:\n{lines}", MIGRATIONS, data={"obstacles": list(found)}
        )
    made = list(statements(registry))
    title = "-- Run once on the coordinator, as the owner of the tables, after: tenantry migrate"
    return Answer("\n".join([title, *made]), {"statements": made})
