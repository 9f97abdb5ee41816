"""Ceremonies of passkeys: what a right answer says, and every wrong one refused."""

import asyncio
import json
import secrets
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.fido2.ceremonies import Fido2Ceremonies
from application.ports.identity.factors import Credential
from application.ports.identity.passkeys import PasskeyCeremonies
from tests.authenticator import ATTESTED, BACKED_UP, ELIGIBLE, ORIGIN, PRESENT, RP_ID, Authenticator, b64, unb64

APP = "android:apk-key-hash:c2hhMjU2"
NAMES = ("ada@example.com", "Ada Byron")
HANDLE, CHALLENGE = b"h" * 32, b"c" * 32

Json = dict[str, Any]
Cose = dict[int, Any]


@pytest.fixture
def ceremonies() -> PasskeyCeremonies:
    return Fido2Ceremonies(RP_ID, "Tenantry", frozenset({ORIGIN, APP}))


async def made(ceremonies: PasskeyCeremonies, key: Authenticator, **client: object) -> Credential | None:
    options = await ceremonies.creation(HANDLE, NAMES, [], CHALLENGE)
    return await ceremonies.created(key.make(options, **client), CHALLENGE)


async def registered(ceremonies: PasskeyCeremonies, key: Authenticator) -> Credential:
    credential = await made(ceremonies, key)
    assert credential is not None
    return credential


async def request(ceremonies: PasskeyCeremonies, *known: Credential) -> Json:
    return await ceremonies.request(list(known), CHALLENGE, is_login=not known)


async def test_passkey_options_are_json_for_browsers_and_name_the_requirements(ceremonies: PasskeyCeremonies) -> None:
    known = await registered(ceremonies, Authenticator())
    options = json.loads(json.dumps(await ceremonies.creation(HANDLE, NAMES, [known], CHALLENGE)))
    assert options["rp"] == {"id": "localhost", "name": "Tenantry"}
    assert options["user"] == {"id": b64(HANDLE), "name": NAMES[0], "displayName": NAMES[1]}
    assert unb64(options["challenge"]) == CHALLENGE
    assert [given["alg"] for given in options["pubKeyCredParams"]] == [-7, -8, -257]
    assert [unb64(given["id"]) for given in options["excludeCredentials"]] == [known.id]
    selection = options["authenticatorSelection"]
    assert (selection["residentKey"], selection["userVerification"]) == ("required", "required")
    shown = json.loads(json.dumps(await request(ceremonies, known)))
    assert (shown["rpId"], shown["userVerification"]) == ("localhost", "preferred")
    assert shown["allowCredentials"] == [{"type": "public-key", "id": b64(known.id), "transports": ["internal"]}]
    login = await request(ceremonies)
    assert login["userVerification"] == "required"
    assert not login.get("allowCredentials")


async def test_a_credential_contains_the_data_of_the_authenticator(ceremonies: PasskeyCeremonies) -> None:
    key = Authenticator(counter=7, flags=PRESENT | ELIGIBLE | BACKED_UP)
    credential = await registered(ceremonies, key)
    assert (credential.id, credential.counter, credential.transports) == (key.credential_id, 7, ("internal",))
    assert (credential.backup_eligible, credential.backed_up, credential.uv_initialized) == (True, True, False)
    assert (await registered(ceremonies, Authenticator())).uv_initialized


async def test_a_verified_assertion_contains_the_signed_values(ceremonies: PasskeyCeremonies) -> None:
    key = Authenticator(counter=7)
    credential = await registered(ceremonies, key)
    response = key.show(await request(ceremonies, credential))
    assert await ceremonies.credential_id(response) == credential.id
    seen = await ceremonies.asserted(response, CHALLENGE, credential)
    assert seen is not None
    assert (seen.counter, seen.is_user_verified, seen.user_handle) == (8, True, HANDLE)
    assert (seen.backup_eligible, seen.backed_up) == (False, False)


async def test_an_app_that_is_listed_may_ask(ceremonies: PasskeyCeremonies) -> None:
    key = Authenticator(origin=APP)
    credential = await registered(ceremonies, key)
    assert await ceremonies.asserted(key.show(await request(ceremonies, credential)), CHALLENGE, credential)


WRONG_CLIENTS: list[Json] = [
    {"type": "webauthn.get"},
    {"challenge": b64(b"d" * 32)},
    {"origin": "http://localhost:8001"},
    {"origin": "https://localhost:8000"},
    {"origin": "http://evil.localhost:8000"},
    {"origin": "http://localhost:8000.evil.example"},
    {"origin": "http://localhost:8000/"},
    {"origin": "null"},
    {"crossOrigin": True},
    {"crossOrigin": True, "topOrigin": "https://evil.example"},
    {"topOrigin": "https://evil.example"},
]


@pytest.mark.promise("second factors, attacks: CVE-2026-8830: checks at registration that the server leaves out")
@pytest.mark.promise("second factors, attacks: a page in a foreign frame")
@pytest.mark.parametrize("told", WRONG_CLIENTS, ids=str)
async def test_a_page_that_may_not_ask_gets_nothing(ceremonies: PasskeyCeremonies, told: Json) -> None:
    assert await made(ceremonies, Authenticator(), **told) is None
    key = Authenticator()
    credential = await registered(ceremonies, key)
    told = {**told, **({"type": "webauthn.create"} if "type" in told else {})}
    assert (
        await ceremonies.asserted(key.show(await request(ceremonies, credential), **told), CHALLENGE, credential)
        is None
    )


@pytest.mark.promise(
    "second factors, attacks: BossConsole#35: a challenge taken from the body, a foreign host, a counter nobody looks "
    "at"
)
@pytest.mark.parametrize("fault", [{"rp_id": "evil.example"}, {"flags": 0}, {"flags": ATTESTED}], ids=str)
async def test_an_assertion_for_another_site_or_without_user_presence_is_refused(
    ceremonies: PasskeyCeremonies, fault: Json
) -> None:
    assert await made(ceremonies, Authenticator(**fault)) is None
    key = Authenticator()
    credential = await registered(ceremonies, key)
    response = replace(key, **fault).show(await request(ceremonies, credential))
    assert await ceremonies.asserted(response, CHALLENGE, credential) is None


async def test_a_key_of_another_algorithm_is_refused(ceremonies: PasskeyCeremonies) -> None:
    assert await made(ceremonies, Authenticator(algorithm=-47)) is None


def ed25519(text: bytes, curve: int = 6) -> Cose:
    return {1: 1, 3: -8, -1: curve, -2: text}


def rsa(modulus: int, exponent: int = 65_537) -> Cose:
    return {1: 3, 3: -257, -1: modulus.to_bytes(1_100).lstrip(b"\0"), -2: exponent.to_bytes(8).lstrip(b"\0")}


def p256(x: int, y: int, *, curve: int = 1, size: int = 32) -> Cose:
    return {1: 2, 3: -7, -1: curve, -2: x.to_bytes(size), -3: y.to_bytes(size)}


POINT = ec.generate_private_key(ec.SECP256R1()).public_key().public_numbers()
ED_KEY = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
MODULUS = generate_rsa_key(65_537, 2_048).public_key().public_numbers().n
PRIME = 2**255 - 19
LOW = [  # y coordinates of the points of small order, RFC 7748 and RFC 8032
    0,
    1,
    PRIME - 1,
    PRIME,
    PRIME + 1,
    0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7,
    0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826,
]
BROKEN: list[Cose] = [
    *(ed25519((y | sign << 255).to_bytes(32, "little")) for y in LOW for sign in (0, 1)),
    ed25519(b"k" * 31),
    ed25519(ED_KEY, curve=7),
    {**ed25519(ED_KEY), 1: 2},
    p256(POINT.x, POINT.y + 1),
    p256(0, 0),
    p256(POINT.x, POINT.y, curve=2),
    p256(POINT.x, POINT.y, size=33),
    rsa(MODULUS, 1),
    rsa(MODULUS, 65_536),
    rsa(MODULUS, 2**40 + 1),
    rsa(MODULUS >> 1_024 | 1),
    rsa((1 << 8_200) | 1),
    rsa(MODULUS + 1),
    {1: 3, 3: -257, -1: "n", -2: b"\1\0\1"},
]


@pytest.mark.parametrize("key", BROKEN)
async def test_a_key_that_anybody_can_sign_for_is_not_stored(ceremonies: PasskeyCeremonies, key: Cose) -> None:
    assert await made(ceremonies, Authenticator(cose=key)) is None


@pytest.mark.parametrize("key", [ed25519(ED_KEY), p256(POINT.x, POINT.y), rsa(MODULUS), rsa(MODULUS, 3)])
async def test_a_sound_key_of_each_algorithm_is_stored(ceremonies: PasskeyCeremonies, key: Cose) -> None:
    assert await made(ceremonies, Authenticator(cose=key)) is not None


@pytest.mark.parametrize("kind", ["password", "", None, "PUBLIC-KEY"])
async def test_a_response_of_another_type_is_refused(ceremonies: PasskeyCeremonies, kind: str | None) -> None:
    key = Authenticator()
    credential = await registered(ceremonies, key)
    options = await ceremonies.creation(HANDLE, NAMES, [], CHALLENGE)
    assert await ceremonies.created(Authenticator().make(options) | {"type": kind}, CHALLENGE) is None
    shown = key.show(await request(ceremonies, credential)) | {"type": kind}
    assert await ceremonies.asserted(shown, CHALLENGE, credential) is None


async def test_another_key_does_not_sign_for_it(ceremonies: PasskeyCeremonies) -> None:
    key = Authenticator()
    credential = await registered(ceremonies, key)
    other = Authenticator(credential_id=key.credential_id, handle=HANDLE)
    response = other.show(await request(ceremonies, credential))
    assert await ceremonies.asserted(response, CHALLENGE, credential) is None


@pytest.mark.promise("second factors, attacks: a cleared bit for user verification")
@pytest.mark.parametrize("part", ["authenticatorData", "clientDataJSON", "signature"])
async def test_no_bit_can_be_changed(ceremonies: PasskeyCeremonies, part: str) -> None:
    key = Authenticator()
    credential = await registered(ceremonies, key)
    response = key.show(await request(ceremonies, credential))
    for at in (0, 33, -1):
        data = bytearray(unb64(response["response"][part]))
        data[at] ^= 4  # of byte 33 it is the flag for a verified user, or a byte of the counter
        forged = {**response, "response": {**response["response"], part: b64(bytes(data))}}
        assert await ceremonies.asserted(forged, CHALLENGE, credential) is None


async def test_an_id_that_was_not_signed_is_not_registered(ceremonies: PasskeyCeremonies) -> None:
    options = await ceremonies.creation(HANDLE, NAMES, [], CHALLENGE)
    response = Authenticator().make(options)
    forged = {**response, "rawId": b64(b"another"), "id": b64(b"another")}
    assert await ceremonies.created(forged, CHALLENGE) is None


HOSTILE: list[Any] = [
    {},
    {"response": {}},
    {"rawId": 1},
    {"rawId": "!"},
    {"rawId": ""},
    {"rawId": "x" * 5_000},
    {"id": None, "rawId": None, "response": None, "type": "public-key"},
    {"id": "a", "rawId": "YQ", "type": "public-key", "response": {"clientDataJSON": "e30", "attestationObject": "oA"}},
    {"id": "a", "rawId": "YQ", "type": "public-key", "response": {"clientDataJSON": b64(b"[" * 50_000)}},
    {"rawId": "YQ", "response": {"clientDataJSON": b64(b"\xff"), "authenticatorData": "", "signature": ""}},
    {"rawId": "YQ", "response": {"clientDataJSON": b64encode(secrets.token_bytes(99)).decode()}},
]


@pytest.mark.parametrize("response", HOSTILE, ids=lambda value: str(value)[:40])
async def test_anything_else_is_refused_and_never_breaks(ceremonies: PasskeyCeremonies, response: Any) -> None:
    credential = await registered(ceremonies, Authenticator())
    assert await ceremonies.created(response, CHALLENGE) is None
    assert await ceremonies.asserted(response, CHALLENGE, credential) is None
    assert await ceremonies.credential_id(response) in (None, b"a")


ENDS = [b"\x19", b"\x1a\0", b"\x1b", b"\x39", b"\x58", b"\x59", b"\x99", b"\xb9", b"\xfb"]
CUT = st.binary(max_size=12) | st.sampled_from(ENDS)
"""CBOR that ends too early, or is none."""


@given(CUT, st.integers(0, 255), st.data())
@example(b"\x19", 0x80, None)
@example(b"\x19", 0xC5, None)
def test_cut_and_changed_cbor_is_refused(cut: bytes, flags: int, data: st.DataObject | None) -> None:
    asyncio.run(ensure_refused(cut, flags, data))


async def ensure_refused(cut: bytes, flags: int, data: st.DataObject | None) -> None:
    ceremonies, key = Fido2Ceremonies(RP_ID, "Tenantry", frozenset({ORIGIN})), Authenticator()
    response = key.make(await ceremonies.creation(HANDLE, NAMES, [], CHALLENGE))
    credential = await ceremonies.created(response, CHALLENGE)
    assert credential is not None
    whole = unb64(response["response"]["attestationObject"])
    at = data.draw(st.integers(0, len(whole) - 1)) if data else 0
    for attestation in (cut, whole[:at], whole[:at] + cut):
        changed = response["response"] | {"attestationObject": b64(attestation)}
        stored = await ceremonies.created(response | {"response": changed}, CHALLENGE)
        # The last bytes are of the public key: with others it is a key that nobody has.
        if stored is not None:
            shown = key.show(await request(ceremonies, credential))
            assert await ceremonies.asserted(shown, CHALLENGE, stored) is None
    shown = key.show(await request(ceremonies, credential))
    told = sha256(RP_ID.encode()).digest() + bytes([flags]) + bytes(4) + cut
    changed = shown["response"] | {"authenticatorData": b64(told)}
    assert await ceremonies.asserted(shown | {"response": changed}, CHALLENGE, credential) is None
