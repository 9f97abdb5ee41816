"""/.well-known/jwks.json: the keys that verify our tokens."""

from typing import Any

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from adapters.http.request.responses import Bytes
from adapters.http.request.rules import PUBLIC, UNLIMITED, operation, rules
from adapters.http.request.strict_request import StrictRequest
from application.ports.identity.signing_keys import Keyring

KEY_SET = "application/jwk-set+json"

# kept no longer than a new key is announced before it signs; a cache between must not give a page of an allowed origin
# the answer that a server got, which allows none
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
    # a port is a Protocol, which Litestar cannot check an instance against
    async def published(
        self, request: StrictRequest, keyring: NamedDependency[SkipValidation[Keyring]]
    ) -> Response[dict[str, Any]]:
        return Bytes(keyring.published(request.at), KEY_SET, headers=CACHED)
