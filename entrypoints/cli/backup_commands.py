"""Arguments and options of ``tenantry backup`` and ``tenantry restore``."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import rich_click as click

from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import JSON

Run = Callable[[Callable[[Settings], Awaitable[str]]], None]


def add_backup_commands(group: click.RichGroup, run: Run) -> None:
    """Add the commands to a group; ``run`` runs them with the servers in the settings."""

    @group.command("backup")
    @click.argument("folder", type=click.Path(path_type=Path))
    @JSON
    def backup_command(folder: Path) -> None:
        """Write the whole database as of now into a new FOLDER; a running service continues.

        The contents of files are copied, too, if they are in a folder; a bucket is only named.
        The backup omits TENANTRY_SECRET_KEY, needed to open the stored keys: store it elsewhere.
        """
        from entrypoints.cli.backup import make_backup

        run(lambda settings: make_backup(settings, folder))

    @group.command("restore")
    @click.argument("folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path))
    @click.option("--replace", is_flag=True, help="Delete what is in the database once the backup is in its place.")
    @click.option("--undo", is_flag=True, help="Put back what a restore that was killed had set aside; no FOLDER.")
    @click.option("--finish", is_flag=True, help="Delete what a restore had set aside that was killed at its end.")
    @JSON
    def restore_command(folder: Path | None, replace: bool, undo: bool, finish: bool) -> None:
        """Restore the backup in FOLDER into an empty database, all of it or nothing.

        Then put the contents of files into their store, and check them. The exit code is 1 if a row misses a content.

        If a restore with --replace was killed, `tenantry check` reports it and says what to use: --undo, --finish, or
        another restore.
        """
        from entrypoints.cli.backup import end_restore, restore_backup

        if undo or finish:
            if folder is not None or replace or (undo and finish):
                raise click.UsageError("--undo and --finish take no FOLDER, and exclude each other and --replace.")
            run(lambda settings: end_restore(settings, undoes=undo))
        elif folder is None:
            raise click.UsageError("Missing argument 'FOLDER': the folder of a backup.")
        else:
            run(lambda settings: restore_backup(settings, folder, replace=replace))
