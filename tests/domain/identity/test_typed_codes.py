"""Codes that people type: every spelling of one is the same code."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.identity.typed_codes import CODE_BYTES, read_code, token_hash, typed_code

CODE = "7KQ2-M0XA-9ZT1-4HJP"
SPELLINGS = [
    *(CODE, CODE.lower(), CODE.replace("-", ""), CODE.replace("-", " "), f"  {CODE}\n"),
    *("7kq2 mOxa-9ztl 4HJP", "7KQ2-MoXA-9ZTi-4HJP"),
]
OTHERS = ["", "7KQ2-M0XA-9ZT1", f"{CODE}-AAAA", "7KQ2-M0XA-9ZT1-4HJU", "7KQ2_M0XA_9ZT1_4HJP", "7KQ2-M0XA-9ZT1-4HJß"]


@pytest.mark.parametrize("text", SPELLINGS)
def test_every_spelling_of_a_code_has_its_hash(text: str) -> None:
    assert read_code(text) == CODE.replace("-", "")
    assert token_hash(text) == token_hash(CODE)


@pytest.mark.parametrize("text", OTHERS)
def test_a_text_that_is_not_a_code_is_hashed_as_it_is(text: str) -> None:
    assert read_code(text) is None
    assert token_hash(text) == sha256(text.encode()).hexdigest() != token_hash(CODE)


@given(st.binary(min_size=CODE_BYTES, max_size=CODE_BYTES), st.binary(min_size=CODE_BYTES, max_size=CODE_BYTES))
def test_a_code_has_80_bits(random: bytes, other: bytes) -> None:
    assert 8 * CODE_BYTES == 80
    assert (typed_code(random) == typed_code(other)) == (random == other)
    assert (token_hash(typed_code(random)) == token_hash(typed_code(other))) == (random == other)
