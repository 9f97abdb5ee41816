"""Domains of tenants: how they are written, and which are nobody's."""

import pytest

from domain.identity.domains import domain_errors, normal_domain


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
def test_what_no_address_ends_with_is_no_domain(text: str) -> None:
    assert normal_domain(text) is None
    assert [error.field for error in domain_errors(text)] == ["domain"]


def test_a_domain_has_240_characters_at_most() -> None:
    longest = ".".join(["a" * 59, "b" * 59, "c" * 59, "d" * 60])
    assert len(longest) == 240
    assert normal_domain(longest) == longest
    assert normal_domain(f"{longest}d") is None
