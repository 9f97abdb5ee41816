"""HTTP clients of social providers: the identity behind a token, and whether the token was issued to us."""

from adapters.social.providers import HttpSocialProviders as HttpSocialProviders
from adapters.social.providers import ProviderSettings as ProviderSettings
