"""A tenant's logo: the addresses that a page may show, and what its policy names."""

import pytest

from application.identity.handover.appearance import Logo, logo_of


@pytest.mark.parametrize(
    ("given", "address", "source"),
    [
        ("https://acme.example/logo.svg", "https://acme.example/logo.svg", "https://acme.example/logo.svg"),
        ("https://CDN.acme.example:8443/a%20b.png", "https://cdn.acme.example:8443/a%20b.png", None),
        ("https://acme.example/logo.svg?v=2&x='1'", "https://acme.example/logo.svg?v=2&x=%271%27",
         "https://acme.example/logo.svg"),
        ("https://acme.example/logo.svg#part", "https://acme.example/logo.svg", None),
        ("HTTPS://acme.example/L%C3%B6we.svg", "https://acme.example/L%C3%B6we.svg", None),
        ("https://acme.example/Löwe.svg", "https://acme.example/L%C3%B6we.svg", None),
    ],
)  # fmt: skip
def test_a_picture_is_named_exactly(given: str, address: str, source: str | None) -> None:
    assert logo_of(given) == Logo(address=address, source=source or address)


@pytest.mark.parametrize(
    "given",
    [None, "", "http://acme.example/logo.svg", "https://acme.example", "https://acme.example/", "https://acme.example/a/",
     "https://acme.example?logo", "https://ada:pw@acme.example/logo.svg", "https://acme.example:port/logo.svg",
     "https://[::1/logo.svg", "https://localhost/logo.svg", "https://*.example/logo.svg", "https://bücher.example/l.svg",
     "https://acme.example;script-src/logo.svg", "data:image/png;base64,AAAA", "//acme.example/logo.svg",
     f"https://acme.example/{'ä' * 400}.svg"],
)  # fmt: skip
def test_what_a_policy_cannot_name_exactly_is_no_picture(given: str | None) -> None:
    assert logo_of(given) is None


@pytest.mark.parametrize(
    "hostile", ["; script-src *", ", default-src *", '" onerror="alert(1)', "'unsafe-inline'", "\r\nX: y"]
)
def test_an_address_adds_nothing_to_a_policy(hostile: str) -> None:
    found = logo_of(f"https://acme.example/logo.svg{hostile}?{hostile}")
    assert found is not None
    assert not set(found.source + found.address) & set(" ;,\"'\r\n<>")
