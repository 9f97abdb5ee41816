"""/.well-known/jwks.json: the public keys for verifying the service's tokens."""

from typing import Any

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from adapters.http.request.responses import Bytes
from adapters.http.request.rules import PUBLIC, UNLIMITED, operation, rules
from adapters.http.request.strict_request import StrictRequest
from application.ports.identity.signing_keys import Keyring

KEY_SET = "application/jwk-set+json"

# Expire before a new key signs. Vary: a shared cache must not answer an allowed origin with a response for a server,
# without an allowed origin.
CACHED = {"cache-control": "public, max-age=60", "vary": "Origin"}


class KeysController(Controller):
    path = "/.well-known"
    tags = ("keys",)
    opt = rules(area="B", any_query=True)

    @get(
        "/jwks.json",
        **operation("keys.published", "The public keys that verify access tokens", PUBLIC, limit=UNLIMITED),
        media_type=KEY_SET,
    )
    # Litestar cannot check an instance against a Protocol.
    async def published(
        self, request: StrictRequest, keyring: NamedDependency[SkipValidation[Keyring]]
    ) -> Response[dict[str, Any]]:
        return Bytes(keyring.published(request.at), KEY_SET, headers=CACHED)
