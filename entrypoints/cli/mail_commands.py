"""``tenantry mail``: the commands for mails that were given up."""

from collections.abc import Awaitable, Callable
from uuid import UUID

import rich_click as click

from entrypoints.settings.settings import Settings

Run = Callable[[Callable[[Settings], Awaitable[str]]], None]

_IDS = click.argument("ids", nargs=-1, type=click.UUID, metavar="[ID]...")
_ALL = click.option("--all", "takes_all", is_flag=True, help="All that were given up.")


def add_mail_commands(group: click.RichGroup, run: Run) -> None:
    """``run`` does the work of a command with the servers that the settings name."""

    @group.group("mail")
    def mail() -> None:
        """Mails that were given up: refused for good, or not to be sent for three days. After 30 days they go."""

    @mail.command("list")
    def list_command() -> None:
        """Print them, the last first: id, when it was given up, kind, recipient, and why."""
        from entrypoints.cli.mail import list_given_up  # noqa: PLC0415

        run(list_given_up)

    @mail.command("retry")
    @_IDS
    @_ALL
    def retry_command(ids: tuple[UUID, ...], takes_all: bool) -> None:
        """Have them tried again by the running service, for another three days."""
        from entrypoints.cli.mail import retry  # noqa: PLC0415

        _ensure_named(ids, takes_all)
        run(lambda settings: retry(settings, ids))

    @mail.command("drop")
    @_IDS
    @_ALL
    def drop_command(ids: tuple[UUID, ...], takes_all: bool) -> None:
        """Throw them away."""
        from entrypoints.cli.mail import drop  # noqa: PLC0415

        _ensure_named(ids, takes_all)
        run(lambda settings: drop(settings, ids))


def _ensure_named(ids: tuple[UUID, ...], takes_all: bool) -> None:
    if bool(ids) == takes_all:
        raise click.UsageError("Name mails by their ids (`tenantry mail list` shows them), or say --all.")
