"""Sessions after a social login: what the provider does later changes nothing, and their ends are the service's own."""

from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from adapters.memory.identity.social import MemorySocialProviders
from application.identity.login.forms import LoginResult, RefreshForm
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable, TokenExpired
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from tests.application.identity.test_social_sign_in import complete_login, open_service
from tests.application.in_memory_service import HERE, InMemoryService
from tests.http.app import SETTINGS
from tests.keys import ensure_keys


async def refreshed(service: InMemoryService, result: LoginResult) -> LoginResult:
    form = RefreshForm(refresh_token=result.refresh_token)
    return cast(LoginResult, await service.services.renewal.refresh(form, HERE))


async def without_providers(service: InMemoryService) -> InMemoryService:
    """The same service from now on, while no provider answers."""
    providers = cast(MemorySocialProviders, service.adapters.social)
    adapters = replace(service.adapters, social=replace(providers, away=providers.names))
    services = assemble(adapters, read_settings({**SETTINGS, "TENANTRY_DEFAULT_TENANT": "system"}))
    await ensure_keys(services)
    return InMemoryService(services, adapters)


async def test_a_session_does_not_depend_on_the_provider_s(registry: Registry, database: WholeDatabase) -> None:
    service = await open_service(registry, database, DEFAULT_TENANT="system")
    first = await complete_login(service, "ada")
    service = await without_providers(service)
    with pytest.raises(ServiceUnavailable):
        await complete_login(service, "ada")
    second = await refreshed(service, first)
    service.clock.move(timedelta(days=6))
    third = await refreshed(service, second)
    service.clock.move(timedelta(days=8))
    with pytest.raises(TokenExpired):
        await refreshed(service, third)
