"""/.well-known/jwks.json: the keys that verify our tokens."""

from typing import Any

from litestar import Controller, Response, get
from litestar.di import NamedDependency
from litestar.params import SkipValidation

from adapters.http.request.responses import Bytes
from adapters.http.request.rules import PUBLIC, UNLIMITED, rules
from adapters.http.request.strict_request import StrictRequest
from application.ports.identity.signing_keys import Keyring

KEY_SET = "application/jwk-set+json"

# kept no longer than a new key is announced before it signs
CACHED = {"cache-control": "public, max-age=60"}


class KeysController(Controller):
    path = "/.well-known"
    tags = ("keys",)
    opt = rules(area="B", any_query=True)

    @get(
        "/jwks.json",
        name="keys.published",
        summary="The public keys that verify access tokens",
        media_type=KEY_SET,
        opt=rules(policy=PUBLIC, limit=UNLIMITED),
    )
    # a port is a Protocol, which Litestar cannot check an instance against
    async def published(
        self, request: StrictRequest, keyring: NamedDependency[SkipValidation[Keyring]]
    ) -> Response[dict[str, Any]]:
        return Bytes(keyring.published(request.at), KEY_SET, headers=CACHED)
