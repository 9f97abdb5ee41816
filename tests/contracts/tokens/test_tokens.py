"""Access tokens: any that was not issued here for this use is refused; keys rotate without an outage."""

import base64
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from adapters.joserfc import LONGEST_TOKEN, Issuance, JoserfcTokens, WrongSecretKey
from domain.errors import TokenExpired, TokenInvalid
from domain.identity.signing_keys import NOTICE
from domain.identity.tokens import LEEWAY, SELECTOR_SCOPE, Claims

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
SECRET = "a secret key of more than 32 characters"
ISSUANCE = Issuance(issuer="https://service", audience="https://service/api", lifetime=HOUR)


def new_tokens(secret: str = SECRET) -> JoserfcTokens:
    return JoserfcTokens(secret, ISSUANCE)


TOKENS = new_tokens()
KEY = TOKENS.make_key(NOW - HOUR)
TOKENS.use([KEY])


def claims(now: datetime = NOW, **changes: Any) -> Claims:
    seconds = int(now.timestamp())
    tenant = Claims(
        iss=ISSUANCE.issuer,
        aud=ISSUANCE.audience,
        sub=UUID(int=1),
        jti=UUID(int=2),
        sid=UUID(int=3),
        iat=seconds,
        nbf=seconds,
        exp=seconds + 3600,
        token_type="Tenant",
        permissions=("read:products",),
        roles=("Member",),
        name="Ada Lovelace",
        email="ada@example.com",
        rev=0,
        ver={"grants:1": 2},
        tenant_id=UUID(int=4),
    )
    return msgspec.structs.replace(tenant, **changes)


def selector(**changes: Any) -> Claims:
    bare: dict[str, Any] = {
        "token_type": "Global",
        "tenant_id": msgspec.UNSET,
        "scope": SELECTOR_SCOPE,
        "permissions": (),
    }
    return claims(**bare | changes)


SIGNED = TOKENS.sign(claims(), NOW)


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed(header: dict[str, Any], payload: bytes, key: Ed25519PrivateKey | None = None) -> str:
    """A token with any header and payload, signed with our own key or the given one."""
    own = TOKENS._opened[KEY.kid].private_key
    assert isinstance(own, Ed25519PrivateKey)
    said = f"{encoded(json.dumps(header).encode())}.{encoded(payload)}"
    return f"{said}.{encoded((key or own).sign(said.encode()))}"


HEADER = {"alg": "EdDSA", "typ": "at+jwt", "kid": KEY.kid}
PAYLOAD = msgspec.json.encode(claims())


def without(name: str) -> bytes:
    payload = json.loads(PAYLOAD)
    del payload[name]
    return json.dumps(payload).encode()


def with_claim(name: str, value: object) -> bytes:
    return json.dumps(json.loads(PAYLOAD) | {name: value}).encode()


def confused() -> str:
    """A token signed by HS256 with the public key as its secret (algorithm confusion)."""
    said = f"{encoded(json.dumps(HEADER | {'alg': 'HS256'}).encode())}.{encoded(PAYLOAD)}"
    return f"{said}.{encoded(hmac.digest(KEY.public.encode(), said.encode(), 'sha256'))}"


def other_ending() -> str:
    """The same signature with other spare bits in its last character."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return SIGNED[:-1] + alphabet[alphabet.index(SIGNED[-1]) ^ 1]


FORGED: dict[str, Callable[[], str]] = {
    "empty": lambda: "",
    "no token": lambda: "garbage",
    "three empty parts": lambda: "..",
    "base64 garbage": lambda: "!!!.???.###",
    "not ASCII": lambda: SIGNED + "é",
    "two parts": lambda: SIGNED.rpartition(".")[0],
    "four parts": lambda: SIGNED + ".x",
    "no signature": lambda: SIGNED.rpartition(".")[0] + ".",
    "truncated": lambda: SIGNED[:-1],
    "one character more": lambda: SIGNED + "A",
    "padded": lambda: SIGNED + "==",
    "line feed": lambda: SIGNED + "\n",
    "leading space": lambda: " " + SIGNED,
    "another ending": other_ending,
    "alg none": lambda: (
        encoded(b'{"alg":"none","typ":"at+jwt","kid":"%s"}' % KEY.kid.encode()) + f".{encoded(PAYLOAD)}."
    ),
    "alg none, signed": lambda: signed(HEADER | {"alg": "none"}, PAYLOAD),
    "alg HS256 with the public key": confused,
    "alg Ed25519": lambda: signed(HEADER | {"alg": "Ed25519"}, PAYLOAD),
    "alg in lower case": lambda: signed(HEADER | {"alg": "eddsa"}, PAYLOAD),
    "no kid": lambda: signed({"alg": "EdDSA", "typ": "at+jwt"}, PAYLOAD),
    "unknown kid": lambda: signed(HEADER | {"kid": "other"}, PAYLOAD),
    "no typ": lambda: signed({"alg": "EdDSA", "kid": KEY.kid}, PAYLOAD),
    "typ JWT": lambda: signed(HEADER | {"typ": "JWT"}, PAYLOAD),
    "critical extension": lambda: signed(HEADER | {"crit": ["b64"], "b64": False}, PAYLOAD),
    "key of its own in the header": lambda: signed(HEADER | {"jwk": json.loads(KEY.public)}, PAYLOAD),
    "another key": lambda: signed(HEADER, PAYLOAD, Ed25519PrivateKey.generate()),
    "payload no JSON": lambda: signed(HEADER, b"{"),
    "payload no object": lambda: signed(HEADER, b"[]"),
    "payload no UTF-8": lambda: signed(HEADER, b'{"iss": "\xff"}'),
    "issuer": lambda: signed(HEADER, with_claim("iss", "https://elsewhere")),
    "audience": lambda: signed(HEADER, with_claim("aud", "https://elsewhere")),
    "audience list": lambda: signed(HEADER, with_claim("aud", [ISSUANCE.audience])),
    "subject no id": lambda: signed(HEADER, with_claim("sub", "ada")),
    "expiry as text": lambda: signed(HEADER, with_claim("exp", "4102444800")),
    "expiry as true": lambda: signed(HEADER, with_claim("exp", True)),
    "unknown token type": lambda: signed(HEADER, with_claim("token_type", "Admin")),
    "null tenant": lambda: signed(HEADER, with_claim("tenant_id", None)),
    "permissions as text": lambda: signed(HEADER, with_claim("permissions", "*")),
    "tenant token with a scope": lambda: signed(HEADER, with_claim("scope", SELECTOR_SCOPE)),
    "tenant token without a tenant": lambda: TOKENS.sign(claims(tenant_id=msgspec.UNSET), NOW),
    "global token with a tenant": lambda: TOKENS.sign(selector(tenant_id=UUID(int=4)), NOW),
    "global token with permissions": lambda: TOKENS.sign(selector(permissions=("*",)), NOW),
    "global token of a super-admin": lambda: TOKENS.sign(selector(super_admin=True), NOW),
    "global token without its scope": lambda: TOKENS.sign(selector(scope=msgspec.UNSET), NOW),
    "global token with another scope": lambda: TOKENS.sign(selector(scope="all"), NOW),
    "issued in the future": lambda: TOKENS.sign(claims(iat=int(NOW.timestamp()) + 6), NOW),
    "not yet valid": lambda: TOKENS.sign(claims(nbf=int(NOW.timestamp()) + 6), NOW),
    "17 kB": lambda: TOKENS.sign(claims(name="x" * 12_800), NOW),
    "forged and expired": lambda: signed(HEADER, with_claim("exp", 1), Ed25519PrivateKey.generate()),
}


@pytest.mark.promise("identity, errors: TOKEN_INVALID 401")
@pytest.mark.promise("identity, tokens and keys: the algorithm comes from the key; over 16 kB unread; 5 s of leeway")
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_token_is_invalid(name: str) -> None:
    token = FORGED[name]()
    for _ in range(2):
        with pytest.raises(TokenInvalid):
            TOKENS.read(token, NOW)


REQUIRED = [info.name for info in msgspec.structs.fields(Claims) if info.required]


@pytest.mark.promise("identity, tokens and keys: EdDSA, at+jwt, kid, every claim by name")
@pytest.mark.parametrize("name", REQUIRED)
def test_every_claim_must_be_there(name: str) -> None:
    with pytest.raises(TokenInvalid):
        TOKENS.read(signed(HEADER, without(name)), NOW)


@given(st.text(max_size=60))
def test_arbitrary_text_is_invalid_and_never_breaks(text: str) -> None:
    for token in (text, f"{text}.{text}.{text}", SIGNED.replace(".", text + ".", 1) if text else text):
        with pytest.raises(TokenInvalid):
            TOKENS.read(token, NOW)


def test_the_table_signs_as_the_service_does() -> None:
    assert TOKENS.read(signed(HEADER, PAYLOAD), NOW) == claims()


@pytest.mark.parametrize("said", [claims(), claims(super_admin=True, app_id="shop"), selector()])
def test_a_signed_token_is_read_with_equal_claims(said: Claims) -> None:
    token = TOKENS.sign(said, NOW)
    assert TOKENS.read(token, NOW) == said
    assert TOKENS.read(token, NOW + HOUR - SECOND) == said


@pytest.mark.promise("identity, tokens and keys: EdDSA, at+jwt, kid, every claim by name")
def test_the_header_says_algorithm_type_and_key() -> None:
    header = SIGNED.partition(".")[0]
    assert json.loads(base64.urlsafe_b64decode(header + "==")) == HEADER


@pytest.mark.promise("identity, tokens and keys: the algorithm comes from the key; over 16 kB unread; 5 s of leeway")
def test_a_large_token_below_the_bound_is_read() -> None:
    token = TOKENS.sign(claims(permissions=tuple(f"read:resource-{number:04}" for number in range(450))), NOW)
    assert 12_000 < len(token) <= LONGEST_TOKEN
    assert TOKENS.read(token, NOW).permissions


@pytest.mark.promise("identity, tokens and keys: the algorithm comes from the key; over 16 kB unread; 5 s of leeway")
@pytest.mark.parametrize("seen_before", [False, True])
def test_a_token_ends_with_its_time_and_the_leeway(seen_before: bool) -> None:
    tokens = new_tokens()
    tokens.use([KEY])
    if seen_before:
        tokens.read(SIGNED, NOW)
    assert tokens.read(SIGNED, NOW + HOUR + LEEWAY - SECOND) == claims()
    for _ in range(2):
        with pytest.raises(TokenExpired):
            tokens.read(SIGNED, NOW + HOUR + LEEWAY)


def test_a_clock_may_be_behind_by_the_leeway() -> None:
    assert TOKENS.read(TOKENS.sign(claims(NOW + LEEWAY), NOW), NOW) == claims(NOW + LEEWAY)


# Keys.


@pytest.mark.promise("identity, tokens and keys: Keys are sealed, shared, made once")
def test_another_process_reads_what_this_one_signed() -> None:
    other = new_tokens()
    other.use([KEY])
    assert other.read(SIGNED, NOW) == claims()


@pytest.mark.promise("identity, tokens and keys: Keys are sealed, shared, made once")
def test_the_secret_half_is_nowhere_in_clear() -> None:
    private = TOKENS._opened[KEY.kid].as_dict(private=True)["d"]
    assert isinstance(private, str)
    assert private not in KEY.sealed
    assert private not in KEY.public
    assert private.encode() not in b"".join(map(bytes, TOKENS.public_keys(NOW)))


def test_keys_sealed_with_another_secret_are_refused_by_the_name_of_the_setting() -> None:
    with pytest.raises(WrongSecretKey, match="TENANTRY_SECRET_KEY"):
        new_tokens(SECRET + "!").use([KEY])


def test_a_sealed_key_does_not_open_with_another_key_id() -> None:
    with pytest.raises(WrongSecretKey):
        new_tokens().use([msgspec.structs.replace(KEY, kid="other")])


def test_a_public_half_written_into_the_database_verifies_nothing() -> None:
    stranger = new_tokens("another secret key, of 32 characters too")
    theirs = stranger.make_key(NOW - HOUR)
    stranger.use([theirs])
    tokens = new_tokens()
    tokens.use([msgspec.structs.replace(KEY, public=theirs.public)])
    with pytest.raises(TokenInvalid):
        tokens.read(stranger.sign(claims(), NOW), NOW)


@pytest.mark.promise("identity, tokens and keys: Keys rotate with overlap while requests run")
def test_keys_rotate_with_overlap() -> None:
    tokens = new_tokens()
    first, second = tokens.make_key(NOW - HOUR), tokens.make_key(NOW + NOTICE)
    tokens.use([first, second])
    old = tokens.sign(claims(), NOW)
    assert kid_of(old) == first.kid
    later = NOW + NOTICE
    new = tokens.sign(claims(later), later)
    assert kid_of(new) == second.kid
    assert tokens.read(old, later) == claims()
    assert tokens.read(new, later) == claims(later)
    assert published_kids(tokens, NOW) == published_kids(tokens, later) == [first.kid, second.kid]
    gone = later + HOUR + LEEWAY
    assert published_kids(tokens, gone) == [second.kid]
    with pytest.raises(TokenInvalid):
        tokens.read(tokens_signed_late(first, gone), gone)


def tokens_signed_late(key: Any, now: datetime) -> str:
    """Tokens signed with a retired key by somebody who still holds it."""
    tokens = new_tokens()
    tokens.use([key])
    return tokens.sign(claims(now), now)


def test_a_key_that_was_taken_away_verifies_nothing_though_its_token_was_seen() -> None:
    tokens = new_tokens()
    other = tokens.make_key(NOW - HOUR)
    tokens.use([KEY, other])
    tokens.read(SIGNED, NOW)
    tokens.use([other])
    with pytest.raises(TokenInvalid):
        tokens.read(SIGNED, NOW)


@pytest.mark.promise(
    "identity, tokens and keys: /.well-known/jwks.json publishes the public keys that are needed, and no secrets"
)
def test_published_keys_are_public_and_say_what_they_are_for() -> None:
    (key,) = (json.loads(bytes(key)) for key in TOKENS.public_keys(NOW))
    assert key.keys() == {"kty", "crv", "x", "kid", "use", "alg"}
    assert (key["kty"], key["crv"], key["use"], key["alg"]) == ("OKP", "Ed25519", "sig", "EdDSA")


def kid_of(token: str) -> str:
    header = token.partition(".")[0]
    return str(json.loads(base64.urlsafe_b64decode(header + "=" * (-len(header) % 4)))["kid"])


def published_kids(tokens: JoserfcTokens, now: datetime) -> list[str]:
    return [json.loads(bytes(key))["kid"] for key in tokens.public_keys(now)]


def test_remembered_tokens_of_equal_rights_share_their_names() -> None:
    """Names of permissions are most of a token's memory, and a role's holders have the same."""
    changes: dict[str, Any] = {"permissions": ("read:products", "update:products"), "roles": ("Editor",)}
    first, second = (TOKENS.read(TOKENS.sign(claims(sub=UUID(int=number), **changes), NOW), NOW) for number in (20, 21))
    assert first.sub != second.sub
    assert first.permissions == changes["permissions"]
    assert first.permissions is second.permissions
    assert first.roles is second.roles
