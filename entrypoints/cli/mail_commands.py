"""``tenantry mail``: commands for undeliverable mails."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import rich_click as click

from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import JSON

Run = Callable[[Callable[[Settings], Awaitable[str]]], None]

_IDS = click.argument("ids", nargs=-1, type=click.UUID, metavar="[ID]...")
_ALL = click.option("--all", "takes_all", is_flag=True, help="All mails that were given up.")


def add_mail_commands(group: click.RichGroup, run: Run) -> None:
    """Add the commands to a group; ``run`` runs them with the servers in the settings."""

    @group.group("mail")
    def mail() -> None:
        """Handle mails given up after a permanent refusal or three days, and mails stored as files."""

    @mail.command("list")
    @JSON
    def list_command() -> None:
        """Print mails that were given up, latest first: id, time, kind, recipient and reason."""
        from entrypoints.cli.mail import list_given_up

        run(list_given_up)

    @mail.command("open")
    @JSON
    def open_command() -> None:
        """Print the newest mail stored as a file, because no mail server is set."""
        from entrypoints.cli.mail import open_newest

        run(open_newest)

    @mail.command("retry")
    @_IDS
    @_ALL
    @JSON
    def retry_command(ids: tuple[UUID, ...], takes_all: bool) -> None:
        """Put mails back, for the running service to try for another three days."""
        from entrypoints.cli.mail import retry

        _ensure_named(ids, takes_all)
        run(lambda settings: retry(settings, ids))

    @mail.command("drop")
    @_IDS
    @_ALL
    @JSON
    def drop_command(ids: tuple[UUID, ...], takes_all: bool) -> None:
        """Delete mails permanently."""
        from entrypoints.cli.mail import drop

        _ensure_named(ids, takes_all)
        run(lambda settings: drop(settings, ids))


def _ensure_named(ids: tuple[UUID, ...], takes_all: bool) -> None:
    # No ids must not mean all: a script's empty list would delete every mail.
    if bool(ids) == takes_all:
        raise click.UsageError("Name mails by their ids (`tenantry mail list` shows them), or say --all.")
