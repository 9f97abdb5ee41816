"""The social providers that the settings turn on."""

from adapters.social import HttpSocialProviders, ProviderSettings
from application.ports.runtime import Clock
from entrypoints.settings.settings import Settings


def social_providers(settings: Settings, clock: Clock) -> HttpSocialProviders:
    registered = {
        name: ProviderSettings(
            client_id=one.client_id,
            client_secret=one.client_secret.reveal() if one.client_secret else "",
            base_url=one.base_url,
        )
        for name, one in settings.social.items()
    }
    return HttpSocialProviders(registered, clock.now)
