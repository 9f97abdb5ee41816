"""``tenantry migrate`` and ``tenantry migrations``: the commands for the schema of the database."""

from collections.abc import Awaitable, Callable

import rich_click as click

from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import JSON

Run = Callable[[Callable[[Settings], Awaitable[str]]], None]


def add_migration_commands(group: click.RichGroup, run: Run) -> None:
    """Adds the commands; ``run`` does the work of one with the servers that the settings name."""

    @group.command("migrate")
    @click.option("--write", metavar="MESSAGE", help="Only write a migration from the declared entities.")
    @click.option(
        "--rename", "renamed", metavar="OLD=NEW", multiple=True, help="With --write: a new name, not a new field."
    )
    @click.option("--sql", is_flag=True, help="Only print the SQL of what is pending.")
    @click.option("--check", is_flag=True, help="Only tell missing migrations and rights, by the exit code as well.")
    @JSON
    def migrate_command(write: str | None, renamed: tuple[str, ...], sql: bool, check: bool) -> None:
        """Apply the pending migrations.

        Migrations are written, read, then applied: --write MESSAGE writes a file and changes no database. A field or an
        entity with a new name keeps its values with --rename code=sku, --rename books.code=sku, --rename books=titles.
        """
        from entrypoints.assembly import migrations  # each command imports what it needs

        if sum((write is not None, sql, check)) > 1:
            raise click.UsageError("--write, --sql and --check exclude each other.")
        if renamed and write is None:
            raise click.UsageError("--rename belongs to --write: it has no meaning without it.")
        if write is not None:
            run(lambda settings: migrations.write(settings, write, renamed))
        elif sql:
            run(migrations.print_sql)
        else:
            run(migrations.check_pending if check else migrations.migrate)

    @group.group("migrations")
    def migrations_group() -> None:
        """Look at the migrations of the database, and mark which are applied."""

    _add_readers(migrations_group, run)
    _add_ways_back(migrations_group, run)

    @migrations_group.command("stamp")
    @click.argument("revision")
    @JSON
    def stamp_command(revision: str) -> None:
        """Mark the database as being at REVISION, without running any migration.

        For a database that got its tables in another way, such as from a backup of tables and rows alone. REVISION is
        the number of a migration, or "heads" for the newest ones.
        """
        from entrypoints.assembly import migrations

        run(lambda settings: migrations.stamp(settings, revision))


def _add_ways_back(group: click.RichGroup, run: Run) -> None:
    """Adds the commands that take a migration back."""

    @group.command("discard")
    @JSON
    def discard_command() -> None:
        """Delete the newest file of your own migrations, which must not be applied to this database."""
        from entrypoints.assembly import migrations

        run(migrations.discard)

    @group.command("downgrade")
    @JSON
    def downgrade_command() -> None:
        """Undo the newest of your own migrations in this database. Values of what it added are lost."""
        from entrypoints.assembly import migrations

        run(migrations.downgrade)


def _add_readers(group: click.RichGroup, run: Run) -> None:
    """Adds the commands that change nothing."""

    @group.command("current")
    @JSON
    def current_command() -> None:
        """Print the newest migration that is applied, one line for each folder of migrations."""
        from entrypoints.assembly import migrations

        run(migrations.current)

    @group.command("history")
    @JSON
    def history_command() -> None:
        """List all migrations, the newest first, and mark the current ones."""
        from entrypoints.assembly import migrations

        run(migrations.history)

    @group.command("check")
    @JSON
    def check_command() -> None:
        """Compare the whole schema with what the entities declare, column by column and index by index.

        The exit code is 5 when they differ. `tenantry migrate --check` is quicker: it looks for pending migrations,
        missing columns, rights of the service and row-level security that is off only.
        """
        from entrypoints.assembly import migrations

        run(migrations.check_schema)
