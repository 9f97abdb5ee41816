"""Preparation before anybody is served: migrations, the signing keys, the first start."""

from adapters.redis.refusals import ensure_accepted
from entrypoints.composition import open_adapters
from entrypoints.entities import load_registry
from entrypoints.migrations import ensure_migrated
from entrypoints.settings.settings import Settings
from entrypoints.use_cases import assemble, ensure_routes_served


async def prepare(settings: Settings) -> str | None:
    """Answers the first super-admin's password when it was generated now."""
    registry = load_registry(settings.entities)
    assert settings.redis_url is not None
    await ensure_accepted(settings.redis_url.reveal())  # before anything is changed
    await ensure_migrated(settings, registry)
    async with open_adapters(settings, registry) as adapters:
        services = assemble(adapters, settings)
        ensure_routes_served(services, settings)  # here, where a mistake is told once, and not by every worker
        await services.signing_keys.ensure()
        given = settings.admin_password.reveal() if settings.admin_password else None
        return await services.first_start.prepare(settings.admin_email, given)
