"""Microsoft: id tokens for our application, signed with Microsoft's keys and issued by the directory they name."""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey
from msgspec import Struct

from adapters.social.provider_client import ProviderClient, Question, away
from application.ports.identity.accounts import SocialIdentity

HOST = "https://login.microsoftonline.com"
LEEWAY = 60
"""Tolerated difference from Microsoft's clock, in seconds."""

KEPT = timedelta(hours=1)
LOOKED_AGAIN_AFTER = timedelta(minutes=1)
"""Minimum time between two requests for the keys. An unknown key id may be new, or invented to cause requests."""

_REGISTRY = jws.JWSRegistry(algorithms=["RS256"])
_UNREADABLE = (
    JoseError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
    msgspec.MsgspecError,
)
"""Exceptions of joserfc for untrusted text: it reads header members before it checks their types."""


class _Key(Struct, frozen=True):
    kid: str
    kty: str
    n: str = ""
    e: str = ""
    issuer: str | None = None


class _Keys(Struct, frozen=True):
    keys: list[_Key]


class _IdToken(Struct, frozen=True):
    """Claims of an id token. ``xms_edov``: the directory proved that it owns the address's domain."""

    iss: str
    aud: str
    tid: str
    oid: str
    exp: float
    nbf: float = 0
    name: str = ""
    email: str | None = None
    xms_edov: bool | int | str = False


class Microsoft:
    def __init__(
        self, client: ProviderClient, client_id: str, base_url: str | None, now: Callable[[], datetime]
    ) -> None:
        self._provider = client
        self._client_id = client_id
        self._base = base_url or HOST
        self._now = now
        self._keys: dict[str, _Key] = {}
        self._asked_at: datetime | None = None

    async def identify(self, token: str) -> SocialIdentity | None:
        key = await self._key_of(token)
        claims = None if key is None else _verified(token, key)
        if key is None or claims is None or not self._is_ours(claims, key):
            return None
        return SocialIdentity(
            provider="microsoft",
            subject=f"{claims.tid}.{claims.oid}",  # `oid` is unique within its directory only
            email=claims.email,
            # Security: without the proof any directory's administrator can assign any address.
            email_verified=claims.xms_edov in (True, "1", "true", "True"),
            name=claims.name,
        )

    def _is_ours(self, claims: _IdToken, key: _Key) -> bool:
        """Return whether the token's client, time and issuer are valid."""
        now = self._now().timestamp()
        issuers = {f"{host}/{claims.tid}/v2.0" for host in (self._base, HOST)}
        # `{tenantid}` in a key's issuer matches any directory.
        of_key = claims.iss if key.issuer is None else key.issuer.replace("{tenantid}", claims.tid)
        in_time = claims.nbf - LEEWAY <= now < claims.exp + LEEWAY
        return claims.aud == self._client_id and claims.iss in issuers and claims.iss == of_key and in_time

    async def _key_of(self, token: str) -> _Key | None:
        try:
            header = jws.extract_compact(token.encode()).headers()
        except _UNREADABLE:
            return None
        kid = header.get("kid")
        if not isinstance(kid, str) or header.get("alg") != "RS256":
            return None
        # Ignore the sign: a clock set back must not extend the use of old keys.
        age = abs(self._now() - self._asked_at) if self._asked_at else KEPT
        if age >= KEPT or (kid not in self._keys and age >= LOOKED_AGAIN_AFTER):
            await self._ask_for_keys()
        return self._keys.get(kid)

    async def _ask_for_keys(self) -> None:
        answer = await self._provider.ask(Question(url=f"{self._base}/common/discovery/v2.0/keys"), _Keys)
        if answer is None:
            raise away("does not show its keys")
        self._keys = {key.kid: key for key in answer.keys if key.kty == "RSA"}
        self._asked_at = self._now()


def _verified(token: str, key: _Key) -> _IdToken | None:
    try:
        public = RSAKey.import_key({"kty": "RSA", "n": key.n, "e": key.e})
        signed = jws.deserialize_compact(token, public, registry=_REGISTRY)
        return msgspec.json.decode(signed.payload, type=_IdToken)
    except _UNREADABLE:
        return None
