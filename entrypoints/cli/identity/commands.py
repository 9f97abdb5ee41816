"""``tenantry tenants``, ``users``, ``roles`` and ``service-accounts``: command declarations."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from entrypoints.cli.identity.domain_commands import add_domain_commands
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import JSON
from entrypoints.terminal.passwords import ask_password

if TYPE_CHECKING:
    from entrypoints.assembly.use_cases import Services

Run = Callable[[Callable[[Settings], Awaitable[str]]], None]
Work = Callable[["Services"], Awaitable[str]]

_TENANT = click.option("--tenant", required=True, metavar="IDENTIFIER", help="Identifier of the tenant.")
_ROLES = click.option("--role", "roles", multiple=True, metavar="NAME", help="A role; may be given several times.")
_GENERATE = click.option("--generate", is_flag=True, help="Make a password and print it.")


def add_administration_commands(group: click.RichGroup, run: Run) -> None:
    """Add the commands to a group; ``run`` runs them with the servers in the settings."""

    def run_with_services(work: Work) -> None:
        async def opened(settings: Settings) -> str:
            # Import late, so that `--help` is fast.
            from entrypoints.cli.operator import open_services

            async with open_services(settings) as services:
                return await work(services)

        run(opened)

    _add_tenant_commands(group, run_with_services)
    users = _add_user_commands(group, run_with_services)
    _add_account_commands(users, run)
    _add_role_commands(group, run_with_services)
    _add_service_account_commands(group, run_with_services)
    add_domain_commands(group, run_with_services)


def _add_tenant_commands(group: click.RichGroup, run: Callable[[Work], None]) -> None:
    @group.group("tenants")
    def tenants() -> None:
        """List, create, close and open tenants."""

    @tenants.command("list")
    @JSON
    def list_command() -> None:
        """Print all tenants."""
        from entrypoints.cli.identity.administration import list_tenants

        run(list_tenants)

    @tenants.command("create")
    @click.argument("identifier")
    @click.option("--name", help="Name that people see; the identifier unless it is given.")
    @JSON
    def create_command(identifier: str, name: str | None) -> None:
        """Create the tenant IDENTIFIER, such as acme."""
        from entrypoints.cli.identity.administration import create_tenant

        run(lambda services: create_tenant(services, identifier, name))

    @tenants.command("close")
    @click.argument("identifier")
    @JSON
    def close_command(identifier: str) -> None:
        """End the tenant's tokens and refuse logins to it, until it is opened. No data is deleted."""
        from entrypoints.cli.identity.administration import set_tenant_active

        run(lambda services: set_tenant_active(services, identifier, is_active=False))

    @tenants.command("open")
    @click.argument("identifier")
    @JSON
    def open_command(identifier: str) -> None:
        """Open a closed tenant again."""
        from entrypoints.cli.identity.administration import set_tenant_active

        run(lambda services: set_tenant_active(services, identifier, is_active=True))


def _add_user_commands(group: click.RichGroup, run: Callable[[Work], None]) -> click.RichGroup:
    @group.group("users")
    def users() -> None:
        """List, create, import and unlock users, set passwords and grant roles."""

    @users.command("list")
    @click.option("--tenant", metavar="IDENTIFIER", help="Members of this tenant; users of all tenants without it.")
    @JSON
    def list_command(tenant: str | None) -> None:
        """Print users. Without --tenant, list their roles in tenants too, as in acme:Admin."""
        from entrypoints.cli.identity.administration import list_users

        run(lambda services: list_users(services, tenant))

    @users.command("create")
    @click.argument("email")
    @_TENANT
    @_ROLES
    @click.option("--name", help="Full name.")
    @_GENERATE
    @JSON
    def create_command(email: str, tenant: str, roles: tuple[str, ...], name: str | None, generate: bool) -> None:
        """Create an account that is a member of a tenant. The password comes from a prompt or --generate."""
        from entrypoints.cli.identity.administration import create_user

        password = None if generate else ask_password()
        run(lambda services: create_user(services, email, name, tenant, roles, password))

    @users.command("set-password")
    @click.argument("email")
    @_GENERATE
    @JSON
    def set_password_command(email: str, generate: bool) -> None:
        """Set an account's password and end its sessions. The password comes from a prompt or --generate."""
        from entrypoints.cli.identity.administration import set_password

        password = None if generate else ask_password()
        run(lambda services: set_password(services, email, password))

    _add_grant_command(users, run)
    return users


def _add_grant_command(users: click.RichGroup, run: Callable[[Work], None]) -> None:
    @users.command("grant")
    @click.argument("email")
    @_TENANT
    @_ROLES
    @click.option("--no-roles", "takes_all", is_flag=True, help="Take all roles away; the membership stays.")
    @JSON
    def grant_command(email: str, tenant: str, roles: tuple[str, ...], takes_all: bool) -> None:
        """Make an account a member of a tenant with these roles, in place of its former ones there."""
        from entrypoints.cli.identity.administration import grant

        # A forgotten option must not remove the roles of a tenant's only administrator.
        if takes_all is bool(roles):
            raise click.UsageError(
                "Name the roles with --role, or take all roles away with --no-roles: one of the two."
            )
        run(lambda services: grant(services, email, tenant, roles))


def _add_account_commands(users: click.RichGroup, run: Run) -> None:
    @users.command("unlock")
    @click.argument("email")
    @JSON
    def unlock_command(email: str) -> None:
        """Unlock an e-mail address: end the locks of its password, for all networks, and of its second factors."""
        from entrypoints.cli.identity.accounts import unlock_email

        run(lambda settings: unlock_email(settings, email))

    @users.command("import")
    @click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
    @JSON
    def import_command(file: Path) -> None:
        """Import users from another system, with the hashes of their passwords.

        FILE is .csv (a header, then rows) or .jsonl (one object per line) with email, fullName, phoneNumber,
        profilePictureUrl, passwordHash, emailConfirmed, isActive, tenant, roles. A second import of the same file
        changes nothing.
        """
        from entrypoints.cli.identity.user_import import import_users

        run(lambda settings: import_users(settings, file))


def _add_role_commands(group: click.RichGroup, run: Callable[[Work], None]) -> None:
    @group.group("roles")
    def roles() -> None:
        """List roles."""

    @roles.command("list")
    @_TENANT
    @JSON
    def list_command(tenant: str) -> None:
        """Print the roles of a tenant and of all tenants, with their permissions."""
        from entrypoints.cli.identity.administration import list_roles

        run(lambda services: list_roles(services, tenant))


def _add_service_account_commands(group: click.RichGroup, run: Callable[[Work], None]) -> None:
    @group.group("service-accounts")
    def service_accounts() -> None:
        """List and create service accounts, and list and make their API keys."""

    @service_accounts.command("list")
    @_TENANT
    @JSON
    def list_command(tenant: str) -> None:
        """Print the service accounts of a tenant."""
        from entrypoints.cli.identity.service_accounts import list_service_accounts

        run(lambda services: list_service_accounts(services, tenant))

    @service_accounts.command("create")
    @click.argument("name")
    @_TENANT
    @_ROLES
    @JSON
    def create_command(name: str, tenant: str, roles: tuple[str, ...]) -> None:
        """Create the service account NAME in a tenant. The account does not have a key yet."""
        from entrypoints.cli.identity.service_accounts import create_service_account

        run(lambda services: create_service_account(services, name, tenant, roles))

    @service_accounts.command("keys")
    @click.argument("name")
    @_TENANT
    @click.option("--create", "key", metavar="NAME", help="Make a key of this name, and print its text this once.")
    @JSON
    def keys_command(name: str, tenant: str, key: str | None) -> None:
        """Print the live keys of the service account NAME."""
        from entrypoints.cli.identity.service_accounts import create_key, list_keys

        if key is not None:
            run(lambda services: create_key(services, name, tenant, key))
        else:
            run(lambda services: list_keys(services, name, tenant))
