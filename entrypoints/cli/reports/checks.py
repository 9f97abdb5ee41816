"""``tenantry check``: reports everything that would keep the service from starting."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import click

from domain.entities.declaration import Registry
from entrypoints.cli.errors import SETTINGS, CommandError
from entrypoints.entities import EntitiesError, load_registry
from entrypoints.server.servers import any_servers
from entrypoints.server.start_warnings import setting_warnings
from entrypoints.settings.settings import Settings, SettingsError, read_settings


def report(environment: Mapping[str, str]) -> bool:
    """Prints the report and returns whether nothing is wrong. A check that needs an earlier one to pass is left out."""
    try:
        settings = read_settings(environment, Path.cwd())
        _say("settings", "all of them are right")
        for warning in setting_warnings(settings):
            _say("note", warning)
        registry = load_registry(settings.entities)
        _say("entities", ", ".join(model.plural for model in registry))
        for oddity in registry.oddities:
            _say("note", oddity)
        return _check_servers(settings, registry)
    except (SettingsError, EntitiesError, CommandError) as error:
        _say("wrong", str(error))
        return False


def _check_servers(settings: Settings, registry: Registry) -> bool:
    with any_servers(settings) as (ready, running):
        if running is not None:
            _say("service", f"runs in {settings.data_dir} as process {running.pid}")
        return asyncio.run(_answers(ready, registry))


async def _answers(settings: Settings, registry: Registry) -> bool:
    mistakes = [mistake async for mistake in _mistakes(settings, registry)]
    for mistake in mistakes:
        _say("wrong", mistake)
    return not mistakes


async def _mistakes(settings: Settings, registry: Registry) -> AsyncIterator[str]:
    # Imported only now: wrong settings are reported without the second that these imports take.
    from adapters.redis.refusals import ensure_accepted  # noqa: PLC0415
    from entrypoints.cli.failures import explained  # noqa: PLC0415
    from entrypoints.composition import open_adapters  # noqa: PLC0415
    from entrypoints.migrations import check_migrations, check_stored_values  # noqa: PLC0415
    from entrypoints.use_cases import assemble, ensure_routes_served  # noqa: PLC0415

    refusals = 0
    try:
        async with explained():
            _say("database", await check_migrations(settings))
            for misfit in await check_stored_values(settings):
                yield misfit
    except CommandError as refusal:
        yield str(refusal)
        refusals += refusal.exit_code == SETTINGS
    assert settings.redis_url is not None
    try:
        async with explained():
            await ensure_accepted(settings.redis_url.reveal())
    except CommandError as refusal:
        yield str(refusal)
        refusals += 1
    if refusals:  # what is opened below would find the same, again and again
        return
    async with open_adapters(settings, registry) as adapters:
        ensure_routes_served(assemble(adapters, settings), settings)
        if not await adapters.admissions.is_shared():
            yield "Redis does not answer: check that it runs, and that TENANTRY_REDIS_URL is its address."
            return
    _say("redis", "answers")


def _say(subject: str, words: str) -> None:
    click.echo(f"{subject + ':':<10} {words}")
