"""``tenantry check``: reports all errors that prevent the service from starting."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from domain.entities.declaration import Registry
from entrypoints.assembly.entities import EntitiesError, load_registry, load_routes
from entrypoints.cli.reports.findings import Findings
from entrypoints.server.servers import any_servers
from entrypoints.server.start_warnings import file_warnings, setting_warnings
from entrypoints.settings.settings import Settings, SettingsError, read_settings
from entrypoints.terminal.errors import SETTINGS, CommandError

STANDBY = (
    "The server of TENANTRY_DATABASE_URL is a standby, or stopped in the middle of a recovery, and does not accept"
    " writes: name its primary, or let it take writes by SELECT pg_promote()."
)
READ_ONLY = (
    "The database of TENANTRY_DATABASE_URL does not accept writes: default_transaction_read_only is on, for the server,"
    " the database or the role. Turn it off."
)


def report(environment: Mapping[str, str], findings: Findings) -> bool:
    """Report the findings; return True if there are none. Skip checks that depend on a failed one."""
    try:
        settings = read_settings(environment, Path.cwd())
        findings.say("settings", "all of them are right")
        for warning in setting_warnings(settings):
            findings.say("note", warning)
        registry = load_registry(settings.entities, settings.files_max_bytes)
        findings.say("entities", ", ".join(model.plural for model in registry))
        for oddity in (*registry.oddities, *file_warnings(settings, registry)):
            findings.say("note", oddity)
        return _check_servers(settings, registry, findings)
    except (SettingsError, EntitiesError, CommandError) as error:
        findings.say("wrong", str(error))
        return False


def _check_servers(settings: Settings, registry: Registry, findings: Findings) -> bool:
    with any_servers(settings) as (ready, running):
        if running is not None:
            findings.say("service", f"runs in {settings.data_dir} as process {running.pid}")
        return asyncio.run(_answers(ready, registry, findings))


async def _answers(settings: Settings, registry: Registry, findings: Findings) -> bool:
    mistakes = [mistake async for mistake in _mistakes(settings, registry, findings)]
    for mistake in mistakes:
        findings.say("wrong", mistake)
    return not mistakes


async def _mistakes(settings: Settings, registry: Registry, findings: Findings) -> AsyncIterator[str]:
    # Import late, so that the report of wrong settings does not wait a second for these imports.
    from adapters.redis.connection_check import ensure_accepted
    from entrypoints.assembly.migrations import check_migrations, check_stored_values, schema_findings
    from entrypoints.server.failures import explained

    refusals, reads = 0, True
    try:
        async with explained(settings):
            up_to_date = await check_migrations(settings)
            differing = await schema_findings(settings)
            reads = not differing
            if reads:
                findings.say("database", up_to_date)
            for misfit in [*await _refused_writes(settings), *differing, *await check_stored_values(settings)]:
                yield misfit
    except CommandError as refusal:
        yield str(refusal)
        refusals += refusal.exit_code == SETTINGS
        reads = False  # tables may be missing, or the server unavailable
    assert settings.redis_url is not None
    try:
        async with explained(settings):
            await ensure_accepted(settings.redis_url.reveal())
    except CommandError as refusal:
        yield str(refusal)
        refusals += 1
    if refusals:  # the checks below would repeat the same errors
        return
    try:
        # The owner checked the tables: the service's role may still be missing or refused.
        async with explained(settings):
            async for mistake in _of_keys_and_routes(settings, registry, findings, reads_keys=reads):
                yield mistake
    except CommandError as refusal:
        yield str(refusal)


async def _refused_writes(settings: Settings) -> list[str]:
    from adapters.postgres.connection.server_facts import database_facts

    assert settings.database_url is not None
    facts = await database_facts(settings.database_url.reveal())
    if facts.is_standby:
        return [STANDBY]
    return [READ_ONLY] if facts.is_read_only else []


async def _of_keys_and_routes(
    settings: Settings, registry: Registry, findings: Findings, *, reads_keys: bool
) -> AsyncIterator[str]:
    from adapters.joserfc import WrongSecretKey
    from entrypoints.assembly.adapters import open_adapters
    from entrypoints.assembly.use_cases import assemble

    async with open_adapters(settings, registry) as adapters:
        services = assemble(adapters, settings)
        if load_routes(settings.entities):
            from entrypoints.assembly.routes import ensure_routes_served  # imports Litestar: needs half a second

            findings.say("routes", ", ".join(ensure_routes_served(services, settings)))
        try:
            if reads_keys:
                await services.signing_keys.reload()
        except WrongSecretKey as refusal:
            yield str(refusal)
        if not await adapters.admissions.is_shared():
            yield "Redis does not answer: check that it runs, and that TENANTRY_REDIS_URL is its address."
            return
    findings.say("redis", "answers")
