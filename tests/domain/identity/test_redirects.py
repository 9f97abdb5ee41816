"""Addresses that a login hands over to: which may be registered, and the proof of who began (RFC 7636).

Domains of tenants: how they are written, and which are nobody's.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.identity.domains import domain_errors, normal_domain
from domain.identity.redirects import (
    LONGEST_ADDRESS,
    answered,
    challenge_of,
    is_answer,
    is_challenge,
    redirect_mistake,
)

# The example of RFC 7636, appendix B.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"

RIGHT = [
    "https://shop.example",
    "https://shop.example/",
    "https://shop.example/signed-in",
    "https://shop.example:8443/signed-in?from=here&x=%2F",
    "https://xn--bcher-kva.example/a%20b",
    "https://[2001:db8::1]/in",
    "http://localhost:3000/in",
    "http://127.0.0.1/",
    "http://127.0.0.1:1/",
    "https://shop.example:65535/",
]
WRONG = [
    "",
    "shop.example/in",
    "//shop.example/in",
    "/in",
    "http://shop.example/in",
    "http://localhost.shop.example/",
    "http://127.0.0.1.shop.example/",
    "http://127.0.0.2/",
    "ftp://shop.example/",
    "javascript:alert(1)",
    "data:text/html,x",
    "shop://in",
    "https:shop.example",
    "https:///in",
    "https://",
    "https://user@shop.example/in",
    "https://user:pass@shop.example/in",
    "https://shop.example@evil.example/",
    "https://shop.example:443@evil.example/",
    "https://shop.example\\@evil.example/",
    "https://shop.example/in#",
    "https://shop.example/in#fragment",
    "https://shop.example/../in",
    "https://shop.example/a/./in",
    "https://shop.example/a/%2e%2e/in",
    "https://shop.example/a/%2E./in",
    "https://SHOP.example/in",
    "HTTPS://shop.example/in",
    "https://shop.example:0/",
    "https://shop.example:99999/",
    "https://shop.example:65536/",
    "https://shop.example:port/",
    "https://shop.example:/",
    "https://-shop.example/",
    "https://shop..example/",
    "https://sh_op.example/",
    "https://*.shop.example/",
    "https://shop.example/*\n",
    "https://shop.example/in ",
    " https://shop.example/in",
    "https://shop.example/\tin",
    "https://bücher.example/",
    "https://shop.example/<script>",
    'https://shop.example/"',
    "https://shop.example/in?code=x",
    "https://shop.example/in?a=b&state=",
    "https://shop.example/in?%63ode=x",
    "https://[",
    "https://[::1",
    "https://[127.0.0.1]/",
    "https://]",
    "https://shop.example/" + "x" * LONGEST_ADDRESS,
]


@pytest.mark.parametrize("address", RIGHT)
def test_an_address_that_names_one_place_may_be_registered(address: str) -> None:
    assert redirect_mistake(address) is None


@pytest.mark.promise(
    "sign-in pages, attacks: Open redirect: an address that is spelt like a registered one, with a user name, a "
    "fragment, another path, case, port or host"
)
@pytest.mark.parametrize("address", WRONG)
def test_an_address_that_could_lead_elsewhere_is_refused_with_a_sentence(address: str) -> None:
    mistake = redirect_mistake(address)
    assert mistake is not None
    assert mistake.startswith(("must ", "accepts "))


@given(st.text(max_size=60), st.sampled_from(["", "https://", "https://shop.example/", "http://localhost"]))
def test_no_text_is_too_strange_to_judge(text: str, before: str) -> None:
    assert redirect_mistake(before + text) is None or redirect_mistake(before + text)


def test_code_and_state_are_added_as_encoded_query_parameters() -> None:
    assert answered("https://shop.example/in", "c&d", None) == "https://shop.example/in?code=c%26d"
    assert (
        answered("https://shop.example/in?a=b", "c", "x y=#&")
        == "https://shop.example/in?a=b&code=c&state=x+y%3D%23%26"
    )
    assert answered("https://shop.example/in", "c", "") == "https://shop.example/in?code=c&state="


def test_the_vector_of_the_rfc() -> None:
    assert challenge_of(VERIFIER) == CHALLENGE
    assert is_answer(VERIFIER, CHALLENGE)
    assert is_challenge(CHALLENGE)


@pytest.mark.promise(
    "sign-in pages, attacks: PKCE downgrade: no challenge, no verifier, the plain method (RFC 9700, 4.8.2)"
)
def test_nothing_else_answers_a_challenge() -> None:
    assert not is_answer(CHALLENGE, CHALLENGE), "the plain method"
    for wrong in (
        "",
        VERIFIER[:-1] + "l",
        VERIFIER + "k",
        VERIFIER[:42],
        "x" * 129,
        VERIFIER[:-1] + "é",
        VERIFIER + "\n",
    ):
        assert not is_answer(wrong, CHALLENGE)
    for wrong in ("", CHALLENGE[:-1], CHALLENGE + "=", CHALLENGE + "A", CHALLENGE.replace("-", "+"), CHALLENGE + "\n"):
        assert not is_challenge(wrong)


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("acme.example", "acme.example"),
        ("Acme.EXAMPLE", "acme.example"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("4711.example", "4711.example"),
    ],
)
def test_a_domain_is_compared_in_one_form(text: str, domain: str) -> None:
    assert normal_domain(text) == domain


@pytest.mark.parametrize(
    "text",
    [
        "",
        "acme",
        " acme.example",
        "acme.example.",
        "acme.example:25",
        "acme.example/mail",
        "-acme.example",
        "acme-.example",
        "ac_me.example",
        "192.0.2.1",
        "acme.42",
    ],
)
def test_a_text_that_cannot_end_an_address_is_not_a_domain(text: str) -> None:
    assert normal_domain(text) is None
    assert [error.field for error in domain_errors(text)] == ["domain"]


def test_a_domain_has_240_characters_at_most() -> None:
    longest = ".".join(["a" * 59, "b" * 59, "c" * 59, "d" * 60])
    assert len(longest) == 240
    assert normal_domain(longest) == longest
    assert normal_domain(f"{longest}d") is None
