"""``tenantry schema citus``: SQL that distributes the tables of a database."""

from adapters.postgres.schema.citus import obstacles, statements
from domain.entities.declaration import Registry
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import MIGRATIONS, CommandError


def report(registry: Registry) -> str:
    """Statements, one below the other. Raises CommandError where Citus would refuse them."""
    if found := obstacles(registry):
        lines = "\n".join(f"  - {sentence}" for sentence in found)
        raise CommandError(
            f"Citus cannot distribute what is declared:\n{lines}", MIGRATIONS, data={"obstacles": list(found)}
        )
    made = list(statements(registry))
    title = "-- Run once on the coordinator, as the owner of the tables, after: tenantry migrate"
    return Answer("\n".join([title, *made]), {"statements": made})
