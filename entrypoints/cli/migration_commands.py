"""``tenantry migrate`` and ``tenantry migrations``: commands for the database schema."""

from collections.abc import Awaitable, Callable

import rich_click as click

from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import JSON

Run = Callable[[Callable[[Settings], Awaitable[str]]], None]


def add_migration_commands(group: click.RichGroup, run: Run) -> None:
    """Add the commands; ``run`` runs them with the servers in the settings."""

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

        Write a migration, read it, then apply it: --write MESSAGE writes a file and changes no database. A renamed
        field or entity retains its values with --rename code=sku, --rename books.code=sku, --rename books=titles.
        """
        from entrypoints.assembly import migrations

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
        """Show the database's migrations, and mark which are applied."""

    _add_readers(migrations_group, run)
    _add_ways_back(migrations_group, run)

    @migrations_group.command("stamp")
    @click.argument("revision")
    @JSON
    def stamp_command(revision: str) -> None:
        """Mark the database as being at REVISION, without running any migration.

        Use it for a database with tables from another source, such as a backup of only tables and rows. REVISION is the
        number of a migration, or "heads" for the newest ones.
        """
        from entrypoints.assembly import migrations

        run(lambda settings: migrations.stamp(settings, revision))


def _add_ways_back(group: click.RichGroup, run: Run) -> None:
    """Adds the commands that undo a migration."""

    @group.command("discard")
    @JSON
    def discard_command() -> None:
        """Delete the newest file of your own migrations, which must not be applied to this database."""
        from entrypoints.assembly import migrations

        run(migrations.discard)

    @group.command("downgrade")
    @JSON
    def downgrade_command() -> None:
        """Undo your project's newest migration in this database. The values that it added are lost."""
        from entrypoints.assembly import migrations

        run(migrations.downgrade)


def _add_readers(group: click.RichGroup, run: Run) -> None:
    """Adds the commands that change nothing."""

    @group.command("current")
    @JSON
    def current_command() -> None:
        """Print the newest applied migration of each folder, one per line."""
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
        """Compare the whole schema with the entities' declarations, column by column and index by index.

        The exit code is 5 for differences. `tenantry migrate --check` is quicker: it checks only pending migrations,
        missing columns, rights of the service and disabled row-level security.
        """
        from entrypoints.assembly import migrations

        run(migrations.check_schema)
