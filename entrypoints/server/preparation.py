"""Preparation before the first request: migrations, the signing keys, the first start."""

from adapters.postgres.connection.login_roles import login_role
from adapters.postgres.connection.poolers import pooler_of
from adapters.redis.connection_check import ensure_accepted
from entrypoints.assembly.adapters import open_adapters
from entrypoints.assembly.clusters import ensure_kind
from entrypoints.assembly.entities import load_registry
from entrypoints.assembly.migrations import ensure_login, ensure_migrated
from entrypoints.assembly.routes import ensure_routes_served
from entrypoints.assembly.use_cases import assemble
from entrypoints.server.start_warnings import database_warnings
from entrypoints.settings.settings import Settings
from entrypoints.terminal.errors import SETTINGS, CommandError


async def ensure_fit_login(settings: Settings, *, allows_superuser: bool) -> list[str]:
    """Create the service's login role, if an owner is named; return warnings.

    Raises CommandError for a superuser beyond this machine, before any other change.
    """
    assert settings.database_url is not None
    if settings.migrate:
        await ensure_login(settings)
    await ensure_named_pooler(settings)
    role = await login_role(settings.database_url.reveal())
    return list(database_warnings(role, settings, allows_superuser=allows_superuser))


async def ensure_named_pooler(settings: Settings) -> None:
    """Raise CommandError if a pooler would pass session settings to other clients, or drop them."""
    assert settings.database_url is not None
    found = await pooler_of(settings.database_url.reveal())
    if found == "none" or settings.database_pooler in (found, "transaction"):
        return
    raise CommandError(
        f"TENANTRY_DATABASE_URL leads through a pooler in {found} mode, and TENANTRY_DATABASE_POOLER is"
        f" {settings.database_pooler}: rows of one tenant could be shown to another. Set"
        f" TENANTRY_DATABASE_POOLER={found}, or name the server itself.",
        SETTINGS,
    )


async def prepare(settings: Settings) -> str | None:
    """Prepare the start; return the first super-admin's password if it was generated now."""
    registry = load_registry(settings.entities, settings.files_max_bytes)
    assert settings.redis_url is not None
    await ensure_accepted(settings.redis_url.reveal())  # before anything is changed
    await ensure_kind(settings)  # before anything is changed
    await ensure_migrated(settings, registry)
    async with open_adapters(settings, registry) as adapters:
        services = assemble(adapters, settings)
        ensure_routes_served(services, settings)  # report an error once, not in every worker
        await services.signing_keys.ensure()
        given = settings.admin_password.reveal() if settings.admin_password else None
        return await services.first_start.prepare(settings.admin_email, given)
