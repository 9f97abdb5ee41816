"""Entry point of the command line: declares commands, and prints answers and failures."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import rich_click as click

from entrypoints.assembly.entities import EntitiesError, load_registry
from entrypoints.cli.attachments.commands import add_attached_file_commands
from entrypoints.cli.backup_commands import add_backup_commands
from entrypoints.cli.completion import NAME, SHELLS, VARIABLE, script
from entrypoints.cli.file_commands import add_file_commands
from entrypoints.cli.identity.commands import add_administration_commands
from entrypoints.cli.mail_commands import add_mail_commands
from entrypoints.cli.migration_commands import add_migration_commands
from entrypoints.server.termination import exit_on_signals, forget_signals
from entrypoints.settings.settings import Settings, SettingsError, read_settings
from entrypoints.terminal.answers import JSON, show, show_data
from entrypoints.terminal.errors import SETTINGS, CommandError
from entrypoints.terminal.passwords import ask_password

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


def main() -> None:
    exit_on_signals()
    os.register_at_fork(after_in_child=forget_signals)
    try:
        tenantry(prog_name=NAME, complete_var=VARIABLE)
    except (SettingsError, EntitiesError) as error:
        _fail(str(error), SETTINGS)
    except CommandError as refusal:
        _fail(str(refusal), refusal.exit_code)
    except FileNotFoundError:
        if _is_somewhere():
            raise
        _fail("The current folder is not there any more: change to another one.", SETTINGS)


def _is_somewhere() -> bool:
    try:
        Path.cwd()
    except FileNotFoundError:
        return False
    return True


def _fail(message: str, exit_code: int) -> NoReturn:
    click.echo(message, err=True)
    sys.exit(exit_code)


def _settings() -> Settings:
    return read_settings(os.environ, Path.cwd())


@click.group()
@click.version_option(package_name="tenantry", message="Tenantry %(version)s")
def tenantry() -> None:
    """Identity, tenants, and a whole API for every entity you declare.

    Settings come from environment variables that begin with TENANTRY_, and from `.env` and `tenantry.toml` in the
    current folder; `tenantry check` reports errors in them.
    """


@tenantry.command("serve")
@click.option(
    "--allow-superuser",
    "allows_superuser",
    is_flag=True,
    help="Start beyond this machine although the service logs in to PostgreSQL as a superuser.",
)
def serve_command(allows_superuser: bool) -> None:
    """Serve until stopped, with embedded PostgreSQL and Valkey where no URL is set."""
    # Import late, here and below, so that `--help` is fast.
    from entrypoints.server.serve import serve

    serve(_settings(), allows_superuser=allows_superuser)


@tenantry.command("init")
@click.argument("folder", default=".", type=click.Path(file_okay=False, path_type=Path))
def init_command(folder: Path) -> None:
    """Create a project in FOLDER, by default the current one: an entity, a route, a test, settings, images."""
    from entrypoints.cli.new_project import make_project

    click.echo(make_project(folder))


@tenantry.command("create-admin")
@click.argument("email")
@click.option("--generate", is_flag=True, help="Make a password and print it.")
@JSON
def create_admin(email: str, generate: bool) -> None:
    """Create another super-admin.

    The password is that of TENANTRY_ADMIN_PASSWORD, else it comes from a prompt or --generate. Without a terminal it is
    a line of standard input.
    """
    from entrypoints.cli.identity.accounts import add_admin

    password = None if generate else _password(_settings())
    _run(lambda settings: add_admin(settings, email, password))


def _password(settings: Settings) -> str:
    if settings.admin_password is not None:
        return settings.admin_password.reveal()
    return ask_password()


@tenantry.command()
@JSON
def clean() -> None:
    """Delete data past its retention time now. A running service does so about every hour.

    This deletes ended and expired sessions, old failed logins, stored responses of repeated requests, used links and
    similar data. It deletes audit events after TENANTRY_AUDIT_RETENTION_DAYS and history entries after
    TENANTRY_HISTORY_RETENTION_DAYS. If autovacuum is late, the command vacuums and analyses tables.
    """
    from entrypoints.cli.cleaning import clean_now

    _run(clean_now)


@tenantry.group()
def keys() -> None:
    """Replace the keys that sign tokens and encrypt passwords."""


@keys.command()
@JSON
def rotate() -> None:
    """Make new keys, used from the next minute on. Users stay logged in."""
    from entrypoints.cli.identity.accounts import rotate_keys

    _run(rotate_keys)


@keys.command()
@JSON
def reseal() -> None:
    """Seal stored keys with TENANTRY_SECRET_KEY after it was changed.

    Set the previous secret in TENANTRY_OTHER_SECRET_KEY; remove it afterwards.
    """
    from entrypoints.cli.identity.accounts import reseal_keys

    _run(reseal_keys)


@tenantry.command()
@click.option("--plans", "shows_plans", is_flag=True, help="Query plans of usual requests, and the tables they scan.")
@JSON
def entities(shows_plans: bool) -> None:
    """Print each entity's paths, fields, relations, permissions and limits."""
    if shows_plans:
        from entrypoints.cli.reports.plans import plans

        _run(plans)
        return
    from entrypoints.cli.reports.entity_report import describe

    show(describe(load_registry(_settings().entities)))


@tenantry.group("schema")
def schema_group() -> None:
    """Print statements for databases that need more than migrations."""


@schema_group.command("citus")
@JSON
def citus_command() -> None:
    """Print the SQL that distributes the tables over the nodes of a Citus cluster, by tenant.

    Runs nothing. The exit code is 5 if something declared cannot be distributed.
    """
    from entrypoints.cli.reports.citus import report

    _show(lambda: report(load_registry(_settings().entities)))


@tenantry.command("settings")
@JSON
def settings_command() -> None:
    """Print every setting, its value and where the value comes from; secrets are hidden."""
    from entrypoints.cli.reports.settings_report import report

    show(report(os.environ, Path.cwd()))


@tenantry.command()
@JSON
def demo() -> None:
    """Fill two tenants with example people, categories, products and reviews, and print three logins."""
    from entrypoints.cli.identity.demo import fill

    _run(fill)


@tenantry.command()
@JSON
def check() -> None:
    """Check settings, entities, database and Redis, and print all errors."""
    from entrypoints.cli.reports.checks import report
    from entrypoints.cli.reports.findings import Findings

    findings = Findings()
    is_right = report(os.environ, findings)
    findings.end(is_right=is_right)
    sys.exit(0 if is_right else 1)


@tenantry.command()
@JSON
def doctor() -> None:
    """Run `tenantry check` and look for other common problems, each with its remedy."""
    from entrypoints.cli.reports.checks import report
    from entrypoints.cli.reports.findings import Findings

    findings = Findings()
    try:
        is_right = report(os.environ, findings)
        if is_right:
            from entrypoints.cli.reports.doctor import examine  # the import needs a second, and settings may be wrong

            is_right = examine(_settings(), findings)
    except CommandError as error:
        findings.say("wrong", str(error))
        is_right = False
    findings.end(is_right=is_right)
    sys.exit(0 if is_right else 1)


@tenantry.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(shell: str) -> None:
    """Print the script that has SHELL complete commands and options, for its start-up file.

    \b
    bash  source <(tenantry completion bash)   in ~/.bashrc
    zsh   source <(tenantry completion zsh)    in ~/.zshrc, below compinit
    fish  tenantry completion fish | source    in ~/.config/fish/config.fish
    """
    click.echo(script(tenantry, shell))


def _run(work: "Callable[[Settings], Awaitable[str]]") -> None:
    """Run the command and print its answer.

    The command uses the servers in the settings, those of a service running in DATA_DIR, or temporary embedded servers.
    """
    from entrypoints.server.servers import any_servers

    settings = _settings()
    load_registry(settings.entities)  # report invalid declarations before servers start
    with any_servers(settings) as (ready, running):
        if running is not None:
            said = f"A service runs in {settings.data_dir} (process {running.pid}): working with its servers."
            click.echo(said, err=True)
        _show(lambda: asyncio.run(_explained(ready, work(ready))))


def _show(work: "Callable[[], str]") -> None:
    try:
        show(work())
    except CommandError as failure:
        show_data(failure.data)
        raise


async def _explained(settings: Settings, work: "Awaitable[str]") -> str:
    from entrypoints.server.failures import explained

    async with explained(settings):
        return await work


add_administration_commands(tenantry, _run)
add_backup_commands(tenantry, _run)
add_file_commands(tenantry, _run)
add_attached_file_commands(tenantry, _run)
add_mail_commands(tenantry, _run)
add_migration_commands(tenantry, _run)

if __name__ == "__main__":
    main()
