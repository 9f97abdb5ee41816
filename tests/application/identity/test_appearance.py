"""A tenant's logo: the addresses that a page may show, and what its policy names."""

from itertools import product

import pytest

from application.identity.hosted_login.appearance import Appearance, Logo, logo_of


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


@pytest.mark.promise(
    "sign-in pages, attacks: a logo's address that opens the policy, or tells another host where it is shown"
)
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


def test_an_address_of_a_picture_has_2000_characters_at_most() -> None:
    start, end = "https://acme.example/", ".svg"
    longest = start + "a" * (2_000 - len(start + end)) + end
    assert logo_of(longest) == Logo(address=longest, source=longest)
    assert logo_of(longest.replace(end, f"a{end}")) is None


def luminance(channels: tuple[int, ...]) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    shares = [channel / 255 for channel in channels]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_a_text_is_read_on_every_colour() -> None:
    """The contrast is 4.5 at least, as level AA asks of texts."""
    steps = range(0, 256, 15)
    for channels in (*product(steps, repeat=3), *((grey, grey, grey) for grey in range(256))):
        appearance = Appearance(name="Acme", color="#{:02x}{:02X}{:02x}".format(*channels))
        text = {"#000000": 0.0, "#ffffff": 1.0}[appearance.text_color]
        dark, light = sorted((text, luminance(channels)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, appearance


@pytest.mark.promise(
    "sign-in pages, attacks: a logo's address that opens the policy, or tells another host where it is shown"
)
@pytest.mark.parametrize(
    "hostile", ["; script-src *", ", default-src *", '" onerror="alert(1)', "'unsafe-inline'", "\r\nX: y"]
)
def test_an_address_adds_nothing_to_a_policy(hostile: str) -> None:
    found = logo_of(f"https://acme.example/logo.svg{hostile}?{hostile}")
    assert found is not None
    assert not set(found.source + found.address) & set(" ;,\"'\r\n<>")
