"""Servers for a command: given by URL, embedded, or those of an already running service."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from msgspec.structs import replace

from entrypoints.settings.data_dir import Running, ensure_usable, forget_running, note_running, read_running, secret_key
from entrypoints.settings.settings import Settings
from entrypoints.settings.variables import Secret
from entrypoints.terminal.errors import IN_USE, UNAVAILABLE, CommandError


@contextmanager
def own_servers(settings: Settings) -> Iterator[Settings]:
    """Yield the settings with both URLs and the secret key; embedded servers run as long as the block.

    Raises CommandError if another process has DATA_DIR, or the servers cannot start.
    """
    if settings.database_url is not None and settings.redis_url is not None:
        yield _with_secret_key(settings)
        return
    ensure_usable(settings.data_dir)
    # Create the key before the database: an interrupted start may leave a key without a database, but not a database
    # without a key.
    keyed = _with_secret_key(settings)
    with ExitStack() as stops:
        running = _start(settings, stops)
        stops.callback(forget_running, settings.data_dir)  # before the servers stop: callbacks run from the last
        note_running(settings.data_dir, running)
        yield _joined(keyed, running)


@contextmanager
def any_servers(settings: Settings) -> Iterator[tuple[Settings, Running | None]]:
    """Act as ``own_servers``. If a service runs in DATA_DIR, yield settings with its servers' URLs, and the service."""
    with ExitStack() as stops:
        try:
            own = stops.enter_context(own_servers(settings))
        except CommandError as refusal:
            if refusal.exit_code != IN_USE:  # if DATA_DIR is in use, use the servers of the running service
                raise
        else:
            yield own, None
            return
    running = read_running(settings.data_dir)
    if running is None:
        raise CommandError(f"Another process starts or stops in {settings.data_dir} just now: try again.", IN_USE)
    yield _with_secret_key(_joined(settings, running)), running


def _start(settings: Settings, stops: ExitStack) -> Running:
    from adapters.embedded import DataDirInUse, EmbeddedUnavailable, start_embedded  # needs wheels
    from adapters.postgres.connection.login_roles import ensure_login_role  # slow to import

    try:
        embedded = start_embedded(
            settings.data_dir,
            postgres=settings.database_url is None,
            valkey=settings.redis_url is None,
            durable=True,
        )
    except DataDirInUse as error:
        raise CommandError(str(error), IN_USE) from None
    except EmbeddedUnavailable as error:
        raise CommandError(str(error), UNAVAILABLE) from None
    stops.callback(embedded.stop)
    if embedded.owner_url is not None and embedded.database_url is not None:
        asyncio.run(ensure_login_role(embedded.owner_url, embedded.database_url))
    return Running(
        pid=os.getpid(),
        base_url=settings.base_url,
        database_url=embedded.database_url,
        redis_url=embedded.redis_url,
        owner_url=embedded.owner_url,
    )


def _with_secret_key(settings: Settings) -> Settings:
    return replace(settings, secret_key=settings.secret_key or secret_key(settings.data_dir))


def _joined(settings: Settings, running: Running) -> Settings:
    """Return the settings with the running service's address, and its servers' URLs where they name none."""
    return replace(
        settings,
        base_url=running.base_url,
        database_url=settings.database_url or _secret(running.database_url),
        database_owner_url=settings.database_owner_url or _secret(running.owner_url),
        redis_url=settings.redis_url or _secret(running.redis_url),
    )


def _secret(url: str | None) -> Secret | None:
    return None if url is None else Secret(url)
