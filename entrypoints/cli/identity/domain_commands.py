"""``tenantry domains`` and ``join-requests``: command declarations."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

import rich_click as click

from entrypoints.terminal.answers import JSON

if TYPE_CHECKING:
    from domain.identity.domains import DomainMode
    from entrypoints.assembly.use_cases import Services

Work = Callable[["Services"], Awaitable[str]]

_TENANT = click.option("--tenant", required=True, metavar="IDENTIFIER", help="Identifier of the tenant.")
_ROLES = click.option("--role", "roles", multiple=True, metavar="NAME", help="A role; may be given several times.")
_MODE = click.option(
    "--mode",
    type=click.Choice(["off", "request", "join"]),
    default="off",
    show_default=True,
    help="What somebody with a confirmed address there gets at their next login.",
)


def add_domain_commands(group: click.RichGroup, run: Callable[[Work], None]) -> None:
    """Add the commands to a group; ``run`` runs them on opened services."""
    _add_domains(group, run)
    _add_requests(group, run)


def _add_domains(group: click.RichGroup, run: Callable[[Work], None]) -> None:
    @group.group("domains")
    def domains() -> None:
        """List, add, verify and remove domains of a tenant."""

    @domains.command("list")
    @_TENANT
    @JSON
    def list_command(tenant: str) -> None:
        """Print the domains of a tenant."""
        from entrypoints.cli.identity.domains import list_domains

        run(lambda services: list_domains(services, tenant))

    @domains.command("add")
    @click.argument("domain")
    @_TENANT
    @_MODE
    @_ROLES
    @JSON
    def add_command(domain: str, tenant: str, mode: str, roles: tuple[str, ...]) -> None:
        """Add DOMAIN to a tenant, or change the mode and roles of an existing one; print the record that proves it."""
        from entrypoints.cli.identity.domains import add_domain

        chosen = cast("DomainMode", mode)
        run(lambda services: add_domain(services, domain, tenant, chosen, roles))

    @domains.command("verify")
    @click.argument("domain")
    @_TENANT
    @JSON
    def verify_command(domain: str, tenant: str) -> None:
        """Look up the record of DOMAIN in the DNS."""
        from entrypoints.cli.identity.domains import verify_domain

        run(lambda services: verify_domain(services, domain, tenant))

    @domains.command("remove")
    @click.argument("domain")
    @_TENANT
    @JSON
    def remove_command(domain: str, tenant: str) -> None:
        """Remove DOMAIN from a tenant. Members who joined through the domain remain members."""
        from entrypoints.cli.identity.domains import remove_domain

        run(lambda services: remove_domain(services, domain, tenant))


def _add_requests(group: click.RichGroup, run: Callable[[Work], None]) -> None:
    @group.group("join-requests")
    def requests() -> None:
        """List, approve and decline requests to join a tenant."""

    @requests.command("list")
    @_TENANT
    @JSON
    def list_command(tenant: str) -> None:
        """Print the pending requests."""
        from entrypoints.cli.identity.domains import list_requests

        run(lambda services: list_requests(services, tenant))

    @requests.command("approve")
    @click.argument("email")
    @_TENANT
    @_ROLES
    @JSON
    def approve_command(email: str, tenant: str, roles: tuple[str, ...]) -> None:
        """Let EMAIL join, with the roles of the domain unless others are given."""
        from entrypoints.cli.identity.domains import approve_request

        run(lambda services: approve_request(services, email, tenant, roles))

    @requests.command("decline")
    @click.argument("email")
    @_TENANT
    @JSON
    def decline_command(email: str, tenant: str) -> None:
        """Decline the request of EMAIL."""
        from entrypoints.cli.identity.domains import decline_request

        run(lambda services: decline_request(services, email, tenant))
