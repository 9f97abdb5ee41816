"""Tickets as JWEs in compact form, encrypted with a key for each kind that is derived from the service's secret."""

import secrets
from datetime import datetime
from typing import get_args

import msgspec
from joserfc import jwe
from joserfc.errors import JoseError
from joserfc.jwk import OctKey
from msgspec import Raw, Struct

from adapters.joserfc.sealing import derived_key
from application.ports.identity.tickets import T, Ticket, TicketKind

LONGEST = 8 * 1024
_ALGORITHMS = ["dir", "A256GCM"]
_HEADER = {"alg": "dir", "enc": "A256GCM"}
_REGISTRY = jwe.JWERegistry(algorithms=_ALGORITHMS)


class _Sealed(Struct, frozen=True):
    id: str
    until: datetime
    content: Raw


class SealedTickets:
    def __init__(self, secret_key: str) -> None:
        kinds: tuple[TicketKind, ...] = get_args(TicketKind)
        # A key for each kind: a ticket of one kind opens as no other.
        self._keys = {kind: OctKey.import_key(derived_key(secret_key, f"tickets: {kind}")) for kind in kinds}

    def seal(self, kind: TicketKind, content: Struct, until: datetime) -> str:
        sealed = _Sealed(f"{kind}:{secrets.token_urlsafe(16)}", until, Raw(msgspec.json.encode(content)))
        return jwe.encrypt_compact(_HEADER, msgspec.json.encode(sealed), self._keys[kind], registry=_REGISTRY)

    def open(self, kind: TicketKind, text: str, content: type[T], now: datetime) -> Ticket[T] | None:
        if len(text) > LONGEST or not text.isascii():
            return None
        try:
            opened = jwe.decrypt_compact(text, self._keys[kind], registry=_REGISTRY)
            sealed = msgspec.json.decode(opened.plaintext or b"", type=_Sealed)
            # Any other header, such as one that asks for decompression, was not written here.
            if opened.headers() != _HEADER or now >= sealed.until:
                return None
            return Ticket(sealed.id, msgspec.json.decode(sealed.content, type=content), sealed.until)
        except (JoseError, ValueError, RecursionError, msgspec.MsgspecError):
            return None
