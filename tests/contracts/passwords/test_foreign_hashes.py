"""Imported hashes: the examples of other systems verify, and none costs more than allowed."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress

import bcrypt
import pytest
from argon2 import PasswordHasher
from argon2.low_level import Type
from hypothesis import given
from hypothesis import strategies as st

from adapters.argon2 import Argon2ForeignHashes, Argon2Passwords, Cost
from application.ports.identity.passwords import FOREIGN

TYPED = "lètmein ½"
SALT = b"a salt, 16 bytes"
RAW = TYPED.encode()


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def bare(data: bytes) -> str:
    return b64(data).rstrip("=")


def adapted(data: bytes) -> str:
    return bare(data).replace("+", ".")


def pbkdf2(digest: str, rounds: int = 1000, length: int = 32, salt: bytes = SALT) -> bytes:
    return hashlib.pbkdf2_hmac(digest, RAW, salt, rounds, length)


def scrypt(length: int = 32) -> bytes:
    return hashlib.scrypt(RAW, salt=SALT, n=1024, r=8, p=2, dklen=length)


def keycloak(algorithm: str, value: bytes, **more: object) -> str:
    """A credential in Keycloak's export, with two halves that are JSON inside JSON."""
    secret = {"value": b64(value), "salt": b64(SALT), "additionalParameters": {}}
    return json.dumps(
        {
            "type": "password",
            "secretData": json.dumps(secret),
            "credentialData": json.dumps({"hashIterations": 1000, "algorithm": algorithm, **more}),
        }
    )


def argon2(kind: Type, passes: int = 1) -> str:
    return PasswordHasher(time_cost=passes, memory_cost=64, parallelism=1, type=kind).hash(RAW, salt=SALT)


ARGON2_RAW = base64.b64decode(argon2(Type.ID).rpartition("$")[2] + "=")
ARGON2_SHAPE = {"hashLength": ["32"], "memory": ["64"], "type": ["id"], "version": ["1.3"], "parallelism": ["1"]}
ASPNET3 = b"\x01" + b"".join(n.to_bytes(4) for n in (1, 1000, 16)) + SALT + pbkdf2("sha256")
ASPNET2 = b"\x00" + SALT + pbkdf2("sha1")

OF_OTHERS = {
    "bcrypt": bcrypt.hashpw(RAW, bcrypt.gensalt(4)).decode(),
    "bcrypt of PHP": "$2y$" + bcrypt.hashpw(RAW, bcrypt.gensalt(4)).decode()[4:],
    "Django's bcrypt": "bcrypt$" + bcrypt.hashpw(RAW, bcrypt.gensalt(4)).decode(),
    "Django's bcrypt of SHA-256": "bcrypt_sha256$"
    + bcrypt.hashpw(hashlib.sha256(RAW).hexdigest().encode(), bcrypt.gensalt(4)).decode(),
    "Django's pbkdf2": f"pbkdf2_sha256$1000$seasalt${b64(pbkdf2('sha256', salt=b'seasalt'))}",
    "Django's older pbkdf2": f"pbkdf2_sha1$1000$seasalt${b64(pbkdf2('sha1', length=20, salt=b'seasalt'))}",
    "passlib's pbkdf2": f"$pbkdf2-sha256$1000${adapted(SALT)}${adapted(pbkdf2('sha256'))}",
    "passlib's longer pbkdf2": f"$pbkdf2-sha512$1000${adapted(SALT)}${adapted(pbkdf2('sha512', length=64))}",
    "passlib's older pbkdf2": f"$pbkdf2$1000${adapted(SALT)}${adapted(pbkdf2('sha1', length=20))}",
    "pbkdf2 of PHC": f"$pbkdf2-sha256$i=1000,l=32${bare(SALT)}${bare(pbkdf2('sha256'))}",
    "Werkzeug's pbkdf2": f"pbkdf2:sha256:1000$seasalt${pbkdf2('sha256', salt=b'seasalt').hex()}",
    "Keycloak's pbkdf2": keycloak("pbkdf2-sha256", pbkdf2("sha256", length=64)),
    "Keycloak's longer pbkdf2": keycloak("pbkdf2-sha512", pbkdf2("sha512", length=64)),
    "Keycloak's older pbkdf2": keycloak("pbkdf2", pbkdf2("sha1", length=64)),
    "Keycloak's argon2": keycloak("argon2", ARGON2_RAW, hashIterations=1, additionalParameters=ARGON2_SHAPE),
    "ASP.NET's pbkdf2": b64(ASPNET3),
    "ASP.NET's older pbkdf2": b64(ASPNET2),
    "scrypt of PHC": f"$scrypt$ln=10,r=8,p=2${bare(SALT)}${bare(scrypt())}",
    "scrypt of those who write N": f"$scrypt$ln=1024,r=8,p=2${b64(SALT)}${b64(scrypt())}",
    "Django's scrypt": f"scrypt$1024${SALT.decode()}$8$2${b64(scrypt(64))}",
    "Werkzeug's scrypt": f"scrypt:1024:8:2${SALT.decode()}${scrypt(64).hex()}",
    "argon2id": argon2(Type.ID),
    "argon2i": argon2(Type.I),
    "argon2d": argon2(Type.D),
    "Django's argon2": "argon2" + argon2(Type.ID),
}
PUBLISHED = {
    "passlib's documentation of pbkdf2": (
        "password",
        "$pbkdf2-sha256$6400$.6UI/S.nXIk8jcbdHx3Fhg$98jZicV16ODfEsEZeYPGHU3kbrUrvUEXOPimVSQDD44",
    ),
    "passlib's documentation of scrypt": (
        "password",
        "$scrypt$ln=16,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E",
    ),
    "Django's own vector of scrypt": (
        "lètmein",
        "scrypt$16384$seasalt$8$5$ECMIUp+LMxMSK8xB/IVyba+KYGTI7FTnet025q/1f/vBAVnnP3hdYqJuRi+mJn6ji6ze3Fbb7JEFPKGpuEf5vw==",
    ),
}


@pytest.fixture(scope="module")
def passwords() -> Iterator[Argon2Passwords]:
    opened = Argon2Passwords(Cost(memory_kib=8, passes=1), cores=1)
    yield opened
    opened.close()


@pytest.mark.promise("identity, user import: Users with hashes of other systems log in, and the hash is replaced")
@pytest.mark.parametrize("stored", OF_OTHERS.values(), ids=OF_OTHERS.keys())
async def test_a_foreign_hash_matches_only_its_password(passwords: Argon2Passwords, stored: str) -> None:
    accepted = Argon2ForeignHashes().accepted(stored)
    assert accepted.startswith(FOREIGN)
    assert await passwords.verify(TYPED, accepted)
    assert passwords.is_outdated(accepted)
    for wrong in ("lètmein", TYPED + "z", TYPED.upper(), ""):
        assert not await passwords.verify(wrong, accepted)


@pytest.mark.parametrize(("typed", "stored"), PUBLISHED.values(), ids=PUBLISHED.keys())
async def test_published_examples_of_other_systems_verify(passwords: Argon2Passwords, typed: str, stored: str) -> None:
    accepted = Argon2ForeignHashes().accepted(stored)
    assert await passwords.verify(typed, accepted)
    assert not await passwords.verify(typed + "z", accepted)


async def test_a_long_password_matches_a_bcrypt_hash_of_its_first_72_bytes(passwords: Argon2Passwords) -> None:
    typed = "x" * 100
    stored = bcrypt.hashpw(typed.encode()[:72], bcrypt.gensalt(4)).decode()
    assert await passwords.verify(typed, Argon2ForeignHashes().accepted(stored))


async def test_the_renewed_hash_is_ours_and_opens_with_the_same_password(passwords: Argon2Passwords) -> None:
    from domain.identity.users import normal_password

    renewed = await passwords.hash(normal_password(TYPED))
    assert await passwords.verify(TYPED, renewed)
    assert not passwords.is_outdated(renewed)


TOO_DEAR = {
    "bcrypt": "$2b$14$" + bcrypt.hashpw(b"", bcrypt.gensalt(4)).decode()[7:],
    "pbkdf2": f"pbkdf2_sha256$99999999$salt${b64(bytes(32))}",
    "much pbkdf2": f"$pbkdf2-sha256$i=2000000${bare(SALT)}${bare(bytes(256))}",
    "scrypt": f"$scrypt$ln=20,r=8,p=1${bare(SALT)}${bare(bytes(32))}",
    "scrypt's memory": f"$scrypt$ln=14,r=200,p=1${bare(SALT)}${bare(bytes(32))}",
    "argon2's memory": f"$argon2id$v=19$m=1048576,t=1,p=1${bare(SALT)}${bare(bytes(32))}",
    "argon2's passes": f"$argon2id$v=19$m=65536,t=100,p=1${bare(SALT)}${bare(bytes(32))}",
}


@pytest.mark.parametrize("stored", TOO_DEAR.values(), ids=TOO_DEAR.keys())
def test_a_hash_that_would_cost_too_much_is_refused_without_computing_it(stored: str) -> None:
    with pytest.raises(ValueError, match="would take about"):
        Argon2ForeignHashes().accepted(stored)


UNKNOWN = (
    "",
    "plain",
    "5f4dcc3b5aa765d61d8327deb882cf99",
    "$1$salt$hash",
    "$6$rounds=5000$salt$hash",
    "$2b$99$" + "x" * 53,
    "$2b$04$short",
    "pbkdf2_sha256$0$salt$" + b64(bytes(32)),
    "pbkdf2_md5$1000$salt$" + b64(bytes(32)),
    "pbkdf2_sha256$1000$salt$" + b64(bytes(4)),
    "$pbkdf2-sha256$1000$not base64!$" + bare(bytes(32)),
    "$scrypt$ln=0,r=8,p=1$c2FsdA$" + bare(bytes(32)),
    f"scrypt$1000$salt$8$1${b64(bytes(32))}",
    "$argon2id$broken",
    "AQAA" + "A" * 60,
    '{"secretData": "{}", "credentialData": "{}"}',
    keycloak("md5", bytes(32)),
    "x" * 5000,
)


@pytest.mark.parametrize("stored", UNKNOWN)
def test_an_unknown_kind_of_hash_is_refused(stored: str) -> None:
    with pytest.raises(ValueError, match=r"^is "):
        Argon2ForeignHashes().accepted(stored)


@given(
    st.text(max_size=200) | st.sampled_from(sorted(OF_OTHERS.values())).map(lambda text: text[:-5] + "$" + text[-4:])
)
def test_any_text_is_either_taken_or_refused(text: str) -> None:
    with suppress(ValueError):
        assert Argon2ForeignHashes().accepted(text).startswith(FOREIGN)
