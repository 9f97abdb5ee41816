"""A passkey in software: what browsers and security keys send, and what they never should."""

import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2 import cbor

Json = dict[str, Any]

ORIGIN, RP_ID = "http://localhost:8000", "localhost"
PRESENT, VERIFIED, ELIGIBLE, BACKED_UP, ATTESTED = 0x01, 0x04, 0x08, 0x10, 0x40


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Authenticator:
    """One credential; ``handle`` is what the service called its user. Each fault is an attribute or an argument.

    ``cose`` is sent in the place of the public key of ``key``.
    """

    origin: str = ORIGIN
    rp_id: str = RP_ID
    flags: int = PRESENT | VERIFIED
    counter: int = 1
    handle: bytes = b""
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    algorithm: int = -7
    cose: dict[int, Any] | None = None

    def make(self, options: Json, **client: object) -> Json:
        """The answer to ``navigator.credentials.create``."""
        self.handle = unb64(options["user"]["id"])
        attested = bytes(16) + len(self.credential_id).to_bytes(2) + self.credential_id + self._public_key()
        data = self._data(ATTESTED) + attested
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        told = self._client("webauthn.create", options["challenge"], client)
        response = {"clientDataJSON": b64(told), "attestationObject": b64(attestation), "transports": ["internal"]}
        return self._credential(response)

    def show(self, options: Json, **client: object) -> Json:
        """The answer to ``navigator.credentials.get``; the counter grows with each."""
        self.counter += 1 if self.counter else 0
        data = self._data()
        told = self._client("webauthn.get", options["challenge"], client)
        signature = self.key.sign(data + sha256(told).digest(), ec.ECDSA(SHA256()))
        response = {"clientDataJSON": b64(told), "authenticatorData": b64(data), "signature": b64(signature)}
        return self._credential(response | {"userHandle": b64(self.handle)})

    def _data(self, more: int = 0) -> bytes:
        return sha256(self.rp_id.encode()).digest() + bytes([self.flags | more]) + self.counter.to_bytes(4)

    def _client(self, kind: str, challenge: str, changes: Json) -> bytes:
        told = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(told | changes).encode()

    def _public_key(self) -> bytes:
        if self.cose is not None:
            return cbor.encode(self.cose)
        numbers = self.key.public_key().public_numbers()
        return cbor.encode({1: 2, 3: self.algorithm, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)})

    def _credential(self, response: Json) -> Json:
        shown = b64(self.credential_id)
        return {"id": shown, "rawId": shown, "type": "public-key", "response": response, "clientExtensionResults": {}}
