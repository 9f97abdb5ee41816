"""``tenantry schema citus``: SQL for distributing a database's tables."""

from adapters.postgres.schema.citus import SETTING_UP, obstacles, statements
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
    made = [f"{statement};" for statement in (*SETTING_UP, "BEGIN", *statements(registry), "COMMIT")]
    title = "-- TENANTRY_DATABASE_KIND=citus makes tenantry migrate run this on the coordinator, as the owner"
    return Answer("\n".join([title, *made]), {"statements": made})
