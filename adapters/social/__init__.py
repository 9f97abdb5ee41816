"""Social providers, asked over HTTP who holds a token and whom it was issued to."""

from adapters.social.providers import HttpSocialProviders as HttpSocialProviders
from adapters.social.providers import ProviderSettings as ProviderSettings
