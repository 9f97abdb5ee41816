"""Microsoft: an id token for us, signed by one of its keys, of the directory that it names as its own."""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey
from msgspec import Struct

from adapters.social.asking import ProviderClient, Question, away
from application.ports.identity.social import SocialIdentity

HOST = "https://login.microsoftonline.com"
LEEWAY = 60
"""Seconds that its clock and ours may differ."""

KEPT = timedelta(hours=1)
LOOKED_AGAIN_AFTER = timedelta(minutes=1)
"""A key that is not known may be new; strangers who make ids up do not make us ask for each."""

_REGISTRY = jws.JWSRegistry(algorithms=["RS256"])


class _Key(Struct, frozen=True):
    kid: str
    kty: str
    n: str = ""
    e: str = ""
    issuer: str | None = None


class _Keys(Struct, frozen=True):
    keys: list[_Key]


class _IdToken(Struct, frozen=True):
    """``xms_edov``: the directory has shown that the domain of the address is its own."""

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
        self, asking: ProviderClient, client_id: str, base_url: str | None, now: Callable[[], datetime]
    ) -> None:
        self._asking = asking
        self._client_id = client_id
        self._base = base_url or HOST
        self._now = now
        self._keys: dict[str, _Key] = {}
        self._asked_at: datetime | None = None

    async def identify(self, token: str) -> SocialIdentity | None:
        key = await self._key_of(token)
        said = None if key is None else _verified(token, key)
        if key is None or said is None or not self._is_ours(said, key):
            return None
        return SocialIdentity(
            provider="microsoft",
            subject=f"{said.tid}.{said.oid}",
            email=said.email,
            email_verified=said.xms_edov in (True, "1", "true", "True"),
            name=said.name,
        )

    def _is_ours(self, said: _IdToken, key: _Key) -> bool:
        """The keys say whose tokens they sign; ``{tenantid}`` there means any directory's."""
        now = self._now().timestamp()
        issuers = {f"{host}/{said.tid}/v2.0" for host in (self._base, HOST)}
        of_key = said.iss if key.issuer is None else key.issuer.replace("{tenantid}", said.tid)
        in_time = said.nbf - LEEWAY <= now < said.exp + LEEWAY
        return said.aud == self._client_id and said.iss in issuers and said.iss == of_key and in_time

    async def _key_of(self, token: str) -> _Key | None:
        try:
            header = jws.extract_compact(token.encode()).headers()
        except (JoseError, ValueError):
            return None
        kid = header.get("kid")
        if not isinstance(kid, str) or header.get("alg") != "RS256":
            return None
        age = self._now() - self._asked_at if self._asked_at else KEPT
        if age >= KEPT or (kid not in self._keys and age >= LOOKED_AGAIN_AFTER):
            await self._ask_for_keys()
        return self._keys.get(kid)

    async def _ask_for_keys(self) -> None:
        answer = await self._asking.ask(Question(url=f"{self._base}/common/discovery/v2.0/keys"), _Keys)
        if answer is None:
            raise away("does not show its keys")
        self._keys = {key.kid: key for key in answer.keys if key.kty == "RSA"}
        self._asked_at = self._now()


def _verified(token: str, key: _Key) -> _IdToken | None:
    try:
        public = RSAKey.import_key({"kty": "RSA", "n": key.n, "e": key.e})
        signed = jws.deserialize_compact(token, public, registry=_REGISTRY)
        return msgspec.json.decode(signed.payload, type=_IdToken)
    except (JoseError, ValueError, msgspec.MsgspecError):
        return None
