"""Encrypted passwords: opened only with the required algorithms and a current key.

Nonces: each can be used once.
"""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jwe
from joserfc.jwk import ECKey, OctKey, RSAKey

from adapters.joserfc import Issuance, JoserfcEncryptedPasswords, JoserfcKeyring, JoserfcTokens, WrongSecretKey
from application.ports.identity.passwords import EncryptedPasswords, OpenedPassword
from application.ports.whole_database import WholeDatabase
from domain.identity.signing_keys import NOTICE, OPENS_PASSWORDS, OVERLAP, PURPOSES, Purpose, SigningKey
from domain.identity.tokens import LEEWAY
from domain.scope import EveryTenant
from tests.builders import NOW as NOW_OF_USED_NONCES

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
SECRET = "a secret key of more than 32 characters"
SAID = {"password": "correct horse ü", "iat": 1_795_000_000, "jti": "first"}
OPENED = OpenedPassword("correct horse ü", 1_795_000_000, "first")

PASSWORDS = JoserfcEncryptedPasswords(SECRET)
KEYS = {purpose: PASSWORDS.make_key(purpose, NOW - HOUR) for purpose in OPENS_PASSWORDS}
PASSWORDS.use(list(KEYS.values()))
SEALED: EncryptedPasswords = PASSWORDS


def public(key: SigningKey) -> RSAKey | ECKey:
    jwk = json.loads(key.public)
    return RSAKey.import_key(jwk) if jwk["kty"] == "RSA" else ECKey.import_key(jwk)


def sealed(purpose: Purpose = "RSA-OAEP-256", said: Any = SAID, key: Any = None, **header: Any) -> str:
    whole = {"alg": purpose, "enc": "A256GCM", **header}
    registry = jwe.JWERegistry(algorithms=[*jwe.JWERegistry.algorithms["alg"], "A256GCM", "A128GCM", "DEF"])
    plaintext = said if isinstance(said, bytes) else json.dumps(said).encode()
    return jwe.encrypt_compact(whole, plaintext, key or public(KEYS[purpose]), registry=registry)


@pytest.mark.promise("identity, encrypted passwords: a JWE of the documented form, and nothing else")
@pytest.mark.parametrize("purpose", OPENS_PASSWORDS)
@pytest.mark.parametrize("with_kid", [True, False])
def test_a_password_encrypted_to_a_published_key_opens(purpose: Purpose, with_kid: bool) -> None:
    text = sealed(purpose, **({"kid": KEYS[purpose].kid} if with_kid else {}))
    assert SEALED.is_encrypted(text)
    assert SEALED.open(text, NOW) == OPENED


def test_the_header_of_an_encrypted_password_may_contain_a_content_type() -> None:
    assert SEALED.open(sealed(typ="JWE", cty="json"), NOW) == OPENED


def without(part: int, by: str = "") -> str:
    parts = sealed().split(".")
    parts[part] = by
    return ".".join(parts)


STRANGER = RSAKey.generate_key(2048)
OTHER_ENCRYPTION = jwe.encrypt_compact(
    {"alg": "RSA-OAEP-256", "enc": "A128GCM"},
    json.dumps(SAID).encode(),
    public(KEYS["RSA-OAEP-256"]),
    registry=jwe.JWERegistry(algorithms=["RSA-OAEP-256", "A128GCM"]),
)
OTHERS = {
    "zipped": sealed(zip="DEF"),
    "of another algorithm": sealed("RSA-OAEP-256", alg="RSA-OAEP"),
    "of another encryption": OTHER_ENCRYPTION,
    "to a stranger's key": sealed(key=STRANGER),
    "to a key of another name": sealed(kid="unknown"),
    "with a symmetric key": sealed(key=OctKey.generate_key(256), alg="dir"),
    "with a critical extension": without(
        0,
        base64.urlsafe_b64encode(b'{"alg":"RSA-OAEP-256","enc":"A256GCM","crit":["b64"],"b64":true}')
        .rstrip(b"=")
        .decode(),
    ),
    "too long": sealed(said=SAID | {"password": "x" * 1500}),
    "no JSON": sealed(said=b"correct horse"),
    "JSON of another shape": sealed(said=["password"]),
    "without an id": sealed(said={name: SAID[name] for name in ("password", "iat")}),
    "with an empty id": sealed(said=SAID | {"jti": ""}),
    "with a time in words": sealed(said=SAID | {"iat": "now"}),
    "with a time of 400 digits": sealed(said=b'{"password": "a", "iat": %s, "jti": "a"}' % (b"9" * 400)),
    "with NUL": sealed(said=SAID | {"password": "a\0b"}),
    "with half a character": sealed(said=b'{"password": "\\ud800", "iat": 1, "jti": "a"}'),
    **{f"with another part {n}": without(n, "AAAA") for n in range(1, 5)},
    **{f"without part {n}": without(n) for n in range(1, 5)},
}


@pytest.mark.promise("identity, encrypted passwords: a JWE of the documented form, and nothing else")
@pytest.mark.promise(
    "security, input: a password like a JWE with a header of 9,000 brackets, or with a time of 400 digits, is a "
    "refused password"
)
@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_nothing_else_opens_though_it_has_the_form(text: str) -> None:
    assert SEALED.is_encrypted(text)
    assert SEALED.open(text, NOW) is None


def header(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


DEEP = b'{"alg":"dir","enc":"A256GCM","x":' + b"[" * 9_000 + b"]" * 9_000 + b"}"
PLAIN = (
    "correct horse",
    "",
    "a.b.c.d.e",
    "....",
    "five.dots.are.not.a.jwe",
    f"{header(b'{}')}.b.c.d.e",
    f"{header(b'not json')}.b.c.d.e",
    f"{header(json.dumps({'alg': 'dir'}).encode())}.b.c.d.e",
    f"{header(json.dumps({'alg': 'dir', 'enc': 'A256GCM'}).encode())}.b.c.d",
    "ü.ü.ü.ü.ü",
    f"{header(DEEP)}.b.c.d.e",
)


@pytest.mark.promise(
    "security, input: a password like a JWE with a header of 9,000 brackets, or with a time of 400 digits, is a "
    "refused password"
)
@pytest.mark.parametrize("text", PLAIN)
def test_what_has_not_the_form_is_taken_for_no_jwe(text: str) -> None:
    assert not SEALED.is_encrypted(text)
    assert SEALED.open(text, NOW) is None


@given(st.text(max_size=300) | st.binary(max_size=200).map(header), st.integers(0, 4))
def test_an_invalid_part_of_an_encrypted_password_raises_no_error(part: str, place: int) -> None:
    parts = sealed("ECDH-ES+A256KW").split(".") if place % 2 else SEALED_RSA.split(".")
    parts[place] = part
    text = ".".join(parts)
    SEALED.is_encrypted(text)
    opened = SEALED.open(text, NOW)
    assert opened is None or text == SEALED_RSA


SEALED_RSA = sealed()


def ring(secret: str = SECRET) -> JoserfcKeyring:
    issuance = Issuance(issuer="https://service", audience="https://service", lifetime=HOUR)
    return JoserfcKeyring(JoserfcTokens(secret, issuance), JoserfcEncryptedPasswords(secret))


def published(keyring: JoserfcKeyring, now: datetime) -> list[dict[str, str]]:
    keys: list[dict[str, str]] = json.loads(keyring.published(now))["keys"]
    return keys


def test_all_keys_are_published_without_their_secret_halves() -> None:
    keyring = ring()
    keyring.use([keyring.make_key(purpose, NOW) for purpose in PURPOSES])
    shown = published(keyring, NOW)
    assert [(key["use"], key["alg"]) for key in shown] == [
        ("sig", "EdDSA"),
        ("enc", "RSA-OAEP-256"),
        ("enc", "ECDH-ES+A256KW"),
    ]
    assert all(key.keys().isdisjoint({"d", "p", "q", "dp", "dq", "qi", "k"}) for key in shown)


def test_a_new_key_is_published_when_every_process_has_it_and_the_old_one_opens_for_a_day() -> None:
    keyring = ring()
    purpose: Purpose = "RSA-OAEP-256"
    old, new = keyring.make_key(purpose, NOW - HOUR), keyring.make_key(purpose, NOW + NOTICE)
    keyring.use([old, new])
    then = NOW + NOTICE
    assert [key["kid"] for key in published(keyring, then - timedelta.resolution)] == [old.kid]
    assert [key["kid"] for key in published(keyring, then)] == [new.kid]
    end = then + OVERLAP + LEEWAY
    for text in (sealed(key=public(old)), sealed(key=public(old), kid=old.kid)):
        assert keyring.passwords.open(text, end - timedelta.resolution) == OPENED
        assert keyring.passwords.open(text, end) is None
    assert keyring.passwords.open(sealed(key=public(new)), end) == OPENED


def test_encrypted_passwords_open_in_other_processes_with_the_same_secret() -> None:
    other = JoserfcEncryptedPasswords(SECRET)
    other.use(list(KEYS.values()))
    assert other.open(SEALED_RSA, NOW) == OPENED
    with pytest.raises(WrongSecretKey):
        JoserfcEncryptedPasswords(SECRET + "!").use(list(KEYS.values()))


@pytest.mark.promise("identity, tokens and keys: no token of one kind passes as another")
def test_a_password_key_signs_nothing() -> None:
    keyring = ring()
    keys = [keyring.make_key(purpose, NOW) for purpose in PURPOSES]
    keyring.use(keys)
    assert len(keyring.tokens.public_keys(NOW)) == 1
    assert len(keyring.passwords.public_keys(NOW)) == 2


MINUTE = timedelta(minutes=1)


async def test_an_id_is_spent_once_and_another_is_another(database: WholeDatabase) -> None:
    async with database.autocommit(EveryTenant()) as tx:
        assert await tx.used_nonces.consume("a", NOW_OF_USED_NONCES + MINUTE, NOW_OF_USED_NONCES)
        assert not await tx.used_nonces.consume("a", NOW_OF_USED_NONCES + MINUTE, NOW_OF_USED_NONCES)
        assert await tx.used_nonces.consume("b", NOW_OF_USED_NONCES + MINUTE, NOW_OF_USED_NONCES)


async def test_a_used_id_is_removed_when_its_carrier_has_expired(database: WholeDatabase) -> None:
    async with database.autocommit(EveryTenant()) as tx:
        for n in range(50):
            await tx.used_nonces.consume(f"old {n}", NOW_OF_USED_NONCES + MINUTE, NOW_OF_USED_NONCES)
        assert not await tx.used_nonces.consume(
            "old 0", NOW_OF_USED_NONCES + 2 * MINUTE, NOW_OF_USED_NONCES + MINUTE - timedelta.resolution
        )
        assert await tx.used_nonces.consume("old 0", NOW_OF_USED_NONCES + 2 * MINUTE, NOW_OF_USED_NONCES + MINUTE)
        assert not await tx.used_nonces.consume("old 0", NOW_OF_USED_NONCES + 2 * MINUTE, NOW_OF_USED_NONCES + MINUTE)


async def test_concurrent_uses_of_a_nonce_succeed_once(database: WholeDatabase) -> None:
    async def consume() -> bool:
        async with database.autocommit(EveryTenant()) as tx:
            return await tx.used_nonces.consume("one", NOW_OF_USED_NONCES + MINUTE, NOW_OF_USED_NONCES)

    assert sum(await asyncio.gather(*(consume() for _ in range(20)))) == 1
