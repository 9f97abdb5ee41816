"""Citus clusters at the start and in commands."""

from collections.abc import Sequence

from adapters.postgres.operations.distribution import distribute, distribution_mistakes, is_distributed
from adapters.postgres.schema.citus import obstacles
from domain.entities.declaration import Registry
from entrypoints.settings.settings import Settings
from entrypoints.terminal.errors import MIGRATIONS, SETTINGS, CommandError


async def ensure_kind(settings: Settings) -> None:
    """Raise CommandError if TENANTRY_DATABASE_KIND is server and Citus has distributed the tables."""
    if settings.database_kind == "server" and await is_distributed(settings.owner_url):
        raise CommandError(
            "The tables are distributed over a Citus cluster, and TENANTRY_DATABASE_KIND is server: no node would know"
            " the tenant of a request. Set TENANTRY_DATABASE_KIND=citus.",
            SETTINGS,
        )


async def ensure_ready(settings: Settings, registry: Registry) -> None:
    """Raise CommandError if the kind is wrong, or if a cluster lacks something that the service needs."""
    await ensure_kind(settings)
    if settings.database_kind == "citus" and (missing := await distribution_mistakes(settings.owner_url, registry)):
        raise _unfit("The Citus cluster is not ready", missing)


async def ensure_distributed(settings: Settings, registry: Registry) -> None:
    """Distribute the tables, unless TENANTRY_MIGRATE is off. Raises CommandError while anything is missing."""
    if settings.database_kind != "citus":
        return
    if settings.migrate:
        await distributed_now(settings, registry)
    await ensure_ready(settings, registry)


async def distributed_now(settings: Settings, registry: Registry) -> list[str]:
    """Distribute the tables that are on the coordinator alone; return their names, none for one server.

    Raises CommandError for declarations that Citus cannot distribute.
    """
    if settings.database_kind != "citus":
        return []
    if found := obstacles(registry):
        raise _unfit("Citus cannot distribute what is declared", found)
    return await distribute(settings.owner_url, registry)


def _unfit(title: str, findings: Sequence[str]) -> CommandError:
    text = "\n".join([f"{title}:", *(f"  - {finding}" for finding in findings)])
    return CommandError(text, MIGRATIONS, data={"isUpToDate": False, "findings": list(findings)})
