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
    @click.option("--digests", is_flag=True, help="Read every content, and compare its digest.")
    @JSON
    def check_command(repair: bool, digests: bool) -> None:
        """Report files without content, and contents without a file. A running service continues.

        The exit code is 1 if a file has no content, another size or digest, or another holder than its row.
        """
        from entrypoints.cli.attachments.comparing import compare_files

        run(lambda settings: compare_files(settings, repairs=repair, digests=digests))
