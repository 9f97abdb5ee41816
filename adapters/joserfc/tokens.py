"""Access tokens: JWTs signed with Ed25519 keys."""

import hashlib
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

import msgspec
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwa import JWSAlgModel
from joserfc.jwk import OKPKey
from msgspec import UNSET, Raw, Struct
from msgspec.structs import replace

from adapters.joserfc.sealing import NOT_OPENED, Sealing, decoded, encoded, public_text
from domain.bounded_cache import BoundedCache
from domain.errors import TokenExpired, TokenInvalid
from domain.identity.signing_keys import SIGNS, SigningKey, living_keys, signing_key
from domain.identity.tokens import LEEWAY, SELECTOR_SCOPE, Claims

LONGEST_TOKEN = 16 * 1024
MOST_REMEMBERED = 16 * 1024 * 1024
"""Bytes of tokens in the cache of verified claims. The claims need several times that memory."""

_ALGORITHM = "EdDSA"
_TYPE = "at+jwt"
_LEEWAY = int(LEEWAY.total_seconds())


class Issuance(Struct, frozen=True, kw_only=True):
    """Issuer, audience and maximum lifetime of the service's tokens."""

    issuer: str
    audience: str
    lifetime: timedelta


class _Header(Struct, frozen=True, forbid_unknown_fields=True):
    alg: str
    typ: str
    kid: str


class _EdDSA(jws.JWSRegistry):
    """Registry with EdDSA as its only algorithm."""

    # Verifiers know the name EdDSA. RFC 9864 renames it to Ed25519.

    max_header_length = 512
    max_payload_length = LONGEST_TOKEN

    def get_alg(self, name: str) -> JWSAlgModel:
        if name != _ALGORITHM:
            raise JoseError
        return self.algorithms[_ALGORITHM]


_REGISTRY = _EdDSA()


class JoserfcTokens:
    def __init__(self, secret_key: str, issuance: Issuance, other: str | None = None) -> None:
        self._sealing = Sealing(secret_key, "signing keys", other)
        self._issuance = issuance
        self._keys: tuple[SigningKey, ...] = ()
        self._opened: dict[str, OKPKey] = {}
        self._remembered: BoundedCache[bytes, Claims] = BoundedCache(MOST_REMEMBERED)

    def use(self, keys: Sequence[SigningKey]) -> None:
        """Load the signing keys. Raises WrongSecretKey."""
        mine = tuple(key for key in keys if key.purpose == SIGNS)
        if mine == self._keys:
            return
        self._opened = {key.kid: self._open(key) for key in mine}
        self._keys = mine
        self._remembered.clear()  # tokens of a removed key must become invalid

    def make_key(self, active_from: datetime) -> SigningKey:
        pair = OKPKey.generate_key("Ed25519", private=True)
        kid = pair.thumbprint()
        public = public_text(pair, {"kid": kid, "use": "sig", "alg": _ALGORITHM})
        return SigningKey(kid=kid, public=public, sealed=self._sealing.seal(pair, kid), active_from=active_from)

    def resealed(self, key: SigningKey) -> SigningKey:
        return self._sealing.resealed(key)

    def sign(self, claims: Claims, now: datetime) -> str:
        key = signing_key(self._keys, now)
        header = {"alg": _ALGORITHM, "typ": _TYPE, "kid": key.kid}
        return jws.serialize_compact(header, msgspec.json.encode(claims), self._opened[key.kid], registry=_REGISTRY)

    def read(self, token: str, now: datetime) -> Claims:
        if len(token) > LONGEST_TOKEN or not token.isascii():
            raise TokenInvalid
        # Cache verified claims by the token's digest to avoid checking the signature per request.
        digest = hashlib.sha256(token.encode()).digest()
        claims = self._remembered.get(digest)
        if claims is None:
            claims = _compact(self._verified(token, now))
            self._remembered.drop_ended(now.timestamp())
            self._remembered.put(digest, claims, len(token), claims.exp + _LEEWAY)
        if now.timestamp() >= claims.exp + _LEEWAY:
            self._remembered.drop(digest)
            raise TokenExpired(session_id=claims.sid)
        return claims

    def public_keys(self, now: datetime) -> list[Raw]:
        """Return the public JWKs of the next key and of keys with possibly valid tokens."""
        return [Raw(key.public.encode()) for key in self._living(now)]

    def _living(self, now: datetime) -> list[SigningKey]:
        return living_keys(self._keys, now, self._issuance.lifetime)

    def _open(self, key: SigningKey) -> OKPKey:
        if key.kid in self._opened and key in self._keys:
            return self._opened[key.kid]
        # Security: derive the public key from the sealed private key, so that an attacker cannot add a key by writing
        # to the database.
        return OKPKey.import_key(self._sealing.open(key))

    def _verified(self, token: str, now: datetime) -> Claims:
        try:
            header, _, signature = token.split(".")
            kid = _kid(decoded(header))
            if kid not in {key.kid for key in self._living(now)} or not _is_canonical(signature):
                raise TokenInvalid
            signed = jws.deserialize_compact(token, self._opened[kid], registry=_REGISTRY)
            claims = msgspec.json.decode(signed.payload, type=Claims)
        except NOT_OPENED:
            raise TokenInvalid from None
        self._ensure_ours(claims, int(now.timestamp()))
        return claims

    def _ensure_ours(self, claims: Claims, now: int) -> None:
        mine = (claims.iss, claims.aud) == (self._issuance.issuer, self._issuance.audience)
        if not mine or max(claims.iat, claims.nbf) > now + _LEEWAY or not _is_consistent(claims):
            raise TokenInvalid


@lru_cache(1024)
def _shared(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first of all equal tuples, so that they share memory."""
    return names


def _compact(claims: Claims) -> Claims:
    # Share equal permission names between tokens. This saves 4 kB of the 6 kB for the claims of a token with 24 names.
    return replace(claims, permissions=_shared(claims.permissions), roles=_shared(claims.roles))


def _is_consistent(claims: Claims) -> bool:
    """Return whether the claims fit: a Global Token has only a scope, a Tenant Token a tenant."""
    if claims.token_type == "Global":  # noqa: S105  # the kind of a token
        bare = claims.tenant_id is UNSET and not claims.permissions and not claims.super_admin
        return bare and claims.scope == SELECTOR_SCOPE
    return claims.tenant_id is not UNSET and claims.scope is UNSET


def _kid(header: bytes) -> str:
    read = msgspec.json.decode(header, type=_Header)
    if (read.alg, read.typ) != (_ALGORITHM, _TYPE):
        raise TokenInvalid
    return read.kid


def _is_canonical(part: str) -> bool:
    # Compare the text: unused bits of the last character would allow a second text for the same signature.
    return encoded(decoded(part)) == part
