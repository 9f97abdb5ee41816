"""/.well-known/jwks.json: the keys that verify our tokens."""

from dataclasses import dataclass
from typing import Protocol

from adapters.http.request.endpoint import PUBLIC, UNLIMITED, Answer, Call, Endpoint, Shown
from application.ports.identity.signing_keys import Keyring

HEADERS = ((b"content-type", b"application/jwk-set+json"), (b"cache-control", b"public, max-age=60"))
"""Kept no longer than a new key is announced before it signs."""


@dataclass(frozen=True)
class Keys:
    keyring: Keyring

    async def published(self, call: Call) -> Answer:
        return Answer(200, self.keyring.published(call.at), HEADERS)


class Publishing(Protocol):
    @property
    def keyring(self) -> Keyring: ...


def key_endpoints(services: Publishing) -> list[Endpoint]:
    return [
        Endpoint(
            method="GET",
            path="/.well-known/jwks.json",
            run=Keys(services.keyring).published,
            policy=PUBLIC,
            limit=UNLIMITED,
            area="B",
            operation="keys.published",
            tag="keys",
            summary="The public keys that verify access tokens",
            shown=(Shown(200, "other"),),
        )
    ]
