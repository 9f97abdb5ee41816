"""Options of ``tenantry files``."""

from collections.abc import Awaitable, Callable

import rich_click as click

from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import JSON

Run = Callable[[Callable[[Settings], Awaitable[str]]], None]


def add_attached_file_commands(group: click.RichGroup, run: Run) -> None:
    """Add the commands to a group; ``run`` runs them with the servers in the settings."""

    @group.group("files")
    def files() -> None:
        """Compare the files of rows with their store."""

    @files.command("check")
    @click.option("--repair", is_flag=True, help="Delete contents that no file has.")
    @JSON
    def check_command(repair: bool) -> None:
        """Report files without content, and contents without a file. A running service continues."""
        from entrypoints.cli.attachments.comparing import compare_files

        run(lambda settings: compare_files(settings, repairs=repair))
