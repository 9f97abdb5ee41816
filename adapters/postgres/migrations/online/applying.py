"""Application of pending migrations in steps: the changes of one transaction, and each online file."""

from collections.abc import Callable, Iterator
from itertools import count

from advanced_alchemy.alembic.commands import AlembicCommands
from alembic.runtime.migration import MigrationContext
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection

from adapters.postgres.migrations.online.operations import ONLINE

Tell = Callable[[int, int], None]
APPLIED = "tell_applied"
"""Key in Alembic's attributes for the callback after each file."""


def steps(commands: AlembicCommands, connection: Connection) -> Iterator[tuple[str, bool]]:
    """Yield the revisions to upgrade to, in order, each with whether it is an online file."""
    pending = _pending(commands, connection)
    for place, revision in enumerate(pending):
        if is_online(revision.module):
            if place and not is_online(pending[place - 1].module):
                yield str(pending[place - 1].revision), False
            yield str(revision.revision), True
    yield "heads", False


def _pending(commands: AlembicCommands, connection: Connection) -> list[Script]:
    script = ScriptDirectory.from_config(commands.config)
    applied = MigrationContext.configure(connection).get_current_heads()
    connection.rollback()
    # Alembic has no public method for the steps of an upgrade.
    steps = script._upgrade_revs("heads", applied)  # type: ignore[arg-type]  # noqa: SLF001  # as said
    return [step.revision for step in steps]


def is_online(module: object) -> bool:
    return bool(getattr(module, "online", False))


def upgrade(
    commands: AlembicCommands,
    connection: Connection,
    limit_waiting: Callable[[bool], None],
    tell: Tell | None = None,
) -> None:
    """Apply all pending migrations; ``limit_waiting`` receives whether the limit covers the whole session.

    If an online file fails, earlier files remain applied.
    """
    attributes = commands.config.attributes
    if tell is not None:
        total, done = len(_pending(commands, connection)), count(1)
        attributes[APPLIED] = lambda: tell(next(done), total)
    for revision, is_beside in list(steps(commands, connection)):
        attributes[ONLINE] = is_beside
        usual = connection.default_isolation_level
        if is_beside:
            connection.execution_options(isolation_level="AUTOCOMMIT")
        limit_waiting(is_beside)
        commands.upgrade(revision)
        connection.commit()
        if is_beside:
            connection.execution_options(isolation_level=usual)
    attributes[ONLINE] = False
