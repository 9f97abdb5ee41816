"""The ``fido2`` server with additional checks: exact origin, cross-origin use, algorithm."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

import msgspec
from fido2 import cbor
from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticatorData,
    AuthenticatorTransport,
    CollectedClientData,
    PublicKeyCredentialDescriptor,
    PublicKeyCredentialParameters,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialType,
    PublicKeyCredentialUserEntity,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from adapters.fido2.public_keys import is_sound
from application.ports.identity.factors import Credential
from application.ports.identity.passkeys import Options, Response, Seen

ALGORITHMS = (-7, -8, -257)
"""COSE numbers of ES256, EdDSA and RS256, in order of preference."""

LONGEST_ID = 1023  # WebAuthn, section 7.1
_WRONG = (ValueError, KeyError, TypeError, AttributeError, AssertionError, IndexError, RecursionError, struct.error)
"""Errors of fido2 for malformed responses; its parsers check little."""


@dataclass(frozen=True)
class CheckedServer:
    """The ``fido2`` server with additional checks; its methods implement ``PasskeyCeremonies``."""

    rp_id: str
    name: str
    origins: frozenset[str]

    def creation(self, handle: bytes, names: tuple[str, str], known: Sequence[Credential], challenge: bytes) -> Options:
        options, _ = self._server.register_begin(
            PublicKeyCredentialUserEntity(id=handle, name=names[0], display_name=names[1]),
            credentials=[_descriptor(credential) for credential in known],
            resident_key_requirement=ResidentKeyRequirement.REQUIRED,
            user_verification=UserVerificationRequirement.REQUIRED,
            challenge=challenge,
        )
        return _plain(options)

    def request(self, known: Sequence[Credential], challenge: bytes, *, is_login: bool) -> Options:
        words = UserVerificationRequirement
        options, _ = self._server.authenticate_begin(
            credentials=[_descriptor(credential) for credential in known] or None,
            # Prefer verification, but require it only for a login: a security key without a PIN is still a second
            # factor.
            user_verification=words.REQUIRED if is_login else words.PREFERRED,
            challenge=challenge,
        )
        return _plain(options)

    def created(self, response: Response, challenge: bytes) -> Credential | None:
        try:
            data = self._server.register_complete(_state(challenge), response)
            return _credential(data, response) if self._is_ours(response) else None
        except _WRONG:
            return None

    def credential_id(self, response: Response) -> bytes | None:
        try:
            found = _decoded(response["rawId"])
        except _WRONG:
            return None
        return found if 0 < len(found) <= LONGEST_ID else None

    def asserted(self, response: Response, challenge: bytes, credential: Credential) -> Seen | None:
        try:
            self._server.authenticate_complete(_state(challenge), [_stored(credential)], response)
            return _seen(response) if self._is_ours(response) else None
        except _WRONG:
            return None

    def _is_ours(self, response: Response) -> bool:
        client = _client_data(response)
        # Security: refuse a response from a frame of another site. Such a site could ask its visitors for their
        # passkeys.
        is_framed = client.cross_origin or "topOrigin" in _members(client)
        return response["type"] == "public-key" and client.origin in self.origins and not is_framed

    @cached_property
    def _server(self) -> Fido2Server:
        server = Fido2Server(
            PublicKeyCredentialRpEntity(id=self.rp_id, name=self.name), verify_origin=self.origins.__contains__
        )
        kind = PublicKeyCredentialType.PUBLIC_KEY
        server.allowed_algorithms = [PublicKeyCredentialParameters(type=kind, alg=number) for number in ALGORITHMS]
        return server


def _plain(options: Any) -> Options:
    """Return the options for ``parseCreationOptionsFromJSON`` and ``parseRequestOptionsFromJSON``."""
    plain: Options = _json(dict(options)["publicKey"])
    return plain


def _json(value: Any) -> Any:
    if isinstance(value, bytes):
        return websafe_encode(value)
    if hasattr(value, "items"):
        return {str(name): _json(part) for name, part in value.items() if part is not None}
    if isinstance(value, list | tuple):
        return [_json(part) for part in value]
    return value if isinstance(value, bool | int) else str(value)


def _state(challenge: bytes) -> dict[str, Any]:
    # The caller judges verification: an unverified key may still be a second factor.
    return {"challenge": websafe_encode(challenge), "user_verification": None}


def _decoded(text: str) -> bytes:
    return websafe_decode(text)


def _client_data(response: Response) -> CollectedClientData:
    return CollectedClientData(_decoded(response["response"]["clientDataJSON"]))


def _members(client: CollectedClientData) -> Any:
    return msgspec.json.decode(bytes(client))


def _descriptor(credential: Credential) -> Any:
    kind = PublicKeyCredentialType.PUBLIC_KEY
    transports = [AuthenticatorTransport(name) for name in credential.transports]
    return PublicKeyCredentialDescriptor(type=kind, id=credential.id, transports=transports)


def _stored(credential: Credential) -> AttestedCredentialData:
    key = CoseKey.parse(cbor.decode(credential.public_key))  # type: ignore[arg-type]
    return AttestedCredentialData.create(credential.aaguid.bytes, credential.id, key)


def _credential(data: AuthenticatorData, response: Response) -> Credential | None:
    made = data.credential_data
    if made is None or made.public_key.ALGORITHM not in ALGORITHMS or not 0 < len(made.credential_id) <= LONGEST_ID:
        return None
    if not is_sound(made.public_key):
        return None
    # Security: the id in the response is not signed.
    if _decoded(response["rawId"]) != made.credential_id:
        return None
    named = response["response"].get("transports") or []
    return Credential(
        id=made.credential_id,
        public_key=cbor.encode(dict(made.public_key)),
        counter=data.counter,
        transports=tuple(text for text in named if text in TRANSPORTS),
        aaguid=UUID(bytes=bytes(made.aaguid)),
        backup_eligible=data.is_backup_eligible(),
        backed_up=data.is_backed_up(),
        uv_initialized=data.is_user_verified(),
    )


TRANSPORTS = ("usb", "nfc", "ble", "smart-card", "hybrid", "internal")


def _seen(response: Response) -> Seen:
    data = AuthenticatorData(_decoded(response["response"]["authenticatorData"]))
    handle = response["response"].get("userHandle")
    return Seen(
        counter=data.counter,
        is_user_verified=data.is_user_verified(),
        backup_eligible=data.is_backup_eligible(),
        backed_up=data.is_backed_up(),
        user_handle=_decoded(handle) if handle else None,
    )
