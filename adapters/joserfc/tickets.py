"""Tickets as compact JWEs, encrypted with one key per kind, derived from the service's secret."""

import secrets
from datetime import datetime
from typing import get_args

import msgspec
from joserfc import jwe
from joserfc.jwk import OctKey
from msgspec import Raw, Struct

from adapters.joserfc.sealing import NOT_OPENED, derived_keys
from application.ports.identity.sessions import T, Ticket, TicketKind

LONGEST = 8 * 1024
_ALGORITHMS = ["dir", "A256GCM"]
_HEADER = {"alg": "dir", "enc": "A256GCM"}
_REGISTRY = jwe.JWERegistry(algorithms=_ALGORITHMS)


class _Sealed(Struct, frozen=True):
    id: str
    until: datetime
    content: Raw


class SealedTickets:
    def __init__(self, secret_key: str, other: str | None = None) -> None:
        kinds: tuple[TicketKind, ...] = get_args(TicketKind)
        # Security: use separate keys for each kind of ticket. The first key seals; each key opens.
        self._keys = {
            kind: [OctKey.import_key(key) for key in derived_keys(secret_key, other, f"tickets: {kind}")]
            for kind in kinds
        }

    def seal(self, kind: TicketKind, content: Struct, until: datetime) -> str:
        sealed = _Sealed(f"{kind}:{secrets.token_urlsafe(16)}", until, Raw(msgspec.json.encode(content)))
        return jwe.encrypt_compact(_HEADER, msgspec.json.encode(sealed), self._keys[kind][0], registry=_REGISTRY)

    def open(self, kind: TicketKind, text: str, content: type[T], now: datetime) -> Ticket[T] | None:
        if len(text) > LONGEST or not text.isascii():
            return None
        found = (self._opened(text, key, content, now) for key in self._keys[kind])
        return next((ticket for ticket in found if ticket is not None), None)

    def _opened(self, text: str, key: OctKey, content: type[T], now: datetime) -> Ticket[T] | None:
        try:
            opened = jwe.decrypt_compact(text, key, registry=_REGISTRY)
            sealed = msgspec.json.decode(opened.plaintext or b"", type=_Sealed)
            # Security: refuse any other header, such as one for decompression: this service writes only this header.
            if opened.headers() != _HEADER or now >= sealed.until:
                return None
            return Ticket(sealed.id, msgspec.json.decode(sealed.content, type=content), sealed.until)
        except NOT_OPENED:
            return None
