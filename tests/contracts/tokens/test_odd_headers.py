"""Texts of strangers whose header is JSON of another form: each is refused, and none ends in another error."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Struct

from adapters.joserfc import Issuance, JoserfcEncryptedPasswords, JoserfcTokens, SealedTickets
from adapters.social.microsoft import Microsoft
from adapters.social.provider_client import ProviderClient, Question, T
from domain.errors import TokenInvalid
from domain.identity.signing_keys import OPENS_PASSWORDS
from tests.authenticator import b64
from tests.builders import NOW
from tests.contracts.identity.social.test_social_providers import published

SECRET = "a secret key of more than 32 characters"
HOUR = timedelta(hours=1)

TICKETS = SealedTickets(SECRET)
TOKENS = JoserfcTokens(SECRET, Issuance(issuer="us", audience="them", lifetime=HOUR))
SIGNING = TOKENS.make_key(NOW - HOUR)
TOKENS.use([SIGNING])
PASSWORDS = JoserfcEncryptedPasswords(SECRET)
OPENING = {purpose: PASSWORDS.make_key(purpose, NOW - HOUR) for purpose in OPENS_PASSWORDS}
PASSWORDS.use(list(OPENING.values()))

ODD: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "dir", "A256GCM", "RS256", "EC", "P-256", "b64"]),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.sampled_from(["kty", "crv", "x", "y"]), parts),
    max_leaves=6,
)
"""Values of JSON that the members of a header should not have, and some that they may."""

NAMES = st.sampled_from(["alg", "enc", "kid", "typ", "cty", "crit", "epk", "apu", "apv", "zip", "jwk", "x5c", "b64"])
CHANGES = st.dictionaries(NAMES, ODD, max_size=4)
PARTS = st.text("AQ_-", max_size=24)


class Content(Struct, frozen=True):
    text: str


def text_of(header: Any, *parts: str) -> str:
    return ".".join([b64(json.dumps(header).encode()), *parts])


def sealed(header: Any, part: str) -> list[str]:
    """The header with parts of the drawn text, and with parts as long as those of a true one."""
    return [text_of(header, "", part, part, part), text_of(header, part, "A" * 16, part, "A" * 22)]


@given(CHANGES, PARTS)
@example({"enc": {}}, "")
@example({"alg": []}, "")
@example({"crit": None}, "")
def test_a_ticket_is_refused(changes: dict[str, Any], part: str) -> None:
    for text in sealed({"alg": "dir", "enc": "A256GCM"} | changes, part):
        assert TICKETS.open("mfa", text, Content, NOW) is None


@pytest.mark.parametrize("purpose", OPENS_PASSWORDS)
@given(CHANGES, PARTS)
@example({"crit": None}, "")
@example({"epk": {"kty": "EC", "crv": "unknown", "x": "AA", "y": "AA"}}, "")
@example({"epk": {"kty": "EC", "crv": ["P-256"], "x": "AA", "y": "AA"}}, "")
@example({"epk": None}, "A" * 24)
def test_an_encrypted_password_is_refused(purpose: Any, changes: dict[str, Any], part: str) -> None:
    for text in sealed({"alg": purpose, "enc": "A256GCM"} | changes, part):
        PASSWORDS.is_encrypted(text)
        assert PASSWORDS.open(text, NOW) is None


@given(CHANGES, PARTS)
@example({"crit": None}, "AAAA")
def test_an_access_token_is_refused(changes: dict[str, Any], part: str) -> None:
    header = {"alg": "EdDSA", "typ": "at+jwt", "kid": SIGNING.kid} | changes
    with pytest.raises(TokenInvalid):
        TOKENS.read(text_of(header, part, part), NOW)


class Published(ProviderClient):
    """Microsoft's answer to the question for its keys, without a network."""

    async def ask(self, question: Question, kind: type[T]) -> T | None:
        return msgspec.convert(published(), kind)


MICROSOFT = Microsoft(Published(), "our client", None, lambda: NOW)


@given(CHANGES, PARTS)
@example({"crit": None}, "AAAA")
@example({"crit": {}}, "AAAA")
def test_an_id_token_is_refused(changes: dict[str, Any], part: str) -> None:
    token = text_of({"alg": "RS256", "kid": "theirs"} | changes, part, part)
    assert asyncio.run(MICROSOFT.identify(token)) is None


@given(ODD)
def test_a_token_header_that_is_not_an_object_is_refused(header: Any) -> None:
    ensure_refused(b64(json.dumps(header).encode()))


def test_a_header_of_a_thousand_brackets_is_refused() -> None:
    ensure_refused(b64(b"[" * 1_000 + b"]" * 1_000))


def ensure_refused(header: str) -> None:
    assert TICKETS.open("mfa", f"{header}.AAAA.AAAA.AAAA.AAAA", Content, NOW) is None
    assert PASSWORDS.open(f"{header}.AAAA.AAAA.AAAA.AAAA", NOW) is None
    assert asyncio.run(MICROSOFT.identify(f"{header}.AAAA.AAAA")) is None
    with pytest.raises(TokenInvalid):
        TOKENS.read(f"{header}.AAAA.AAAA", NOW)
