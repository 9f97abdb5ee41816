"""Enabled social providers."""

from adapters.social import HttpSocialProviders, ProviderSettings
from application.ports.runtime import Clock
from entrypoints.settings.settings import Settings


def social_providers(settings: Settings, clock: Clock) -> HttpSocialProviders:
    registered = {
        name: ProviderSettings(
            client_id=provider.client_id,
            client_secret=provider.client_secret.reveal() if provider.client_secret else "",
            base_url=provider.base_url,
        )
        for name, provider in settings.social.items()
    }
    return HttpSocialProviders(registered, clock.now)
