"""Destinations: only usual URLs, and only addresses that anybody on the internet can reach."""

from ipaddress import ip_address, ip_network

import pytest

from domain.entities.webhooks.destinations import Destination, is_allowed, is_listed, read_destination


@pytest.mark.parametrize(
    ("url", "expected", "authority"),
    [
        ("https://example.com", Destination("https", "example.com", 443, "/"), "example.com"),
        ("https://EXAMPLE.com:8443/a?b=c", Destination("https", "example.com", 8443, "/a?b=c"), "example.com:8443"),
        ("http://127.0.0.1:9000/h", Destination("http", "127.0.0.1", 9000, "/h"), "127.0.0.1:9000"),
        ("https://[2606:4700::1111]/", Destination("https", "2606:4700::1111", 443, "/"), "[2606:4700::1111]"),
        ("https://xn--bcher-kva.example/", Destination("https", "xn--bcher-kva.example", 443, "/"), None),
    ],
)
def test_a_url_is_read_into_its_parts(url: str, expected: Destination, authority: str | None) -> None:
    assert read_destination(url) == expected
    assert authority is None or read_destination(url).authority == authority


@pytest.mark.promise("webhooks, destinations: a URL in another notation than the usual one is refused")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "ftp://example.com",
        "file:///etc/passwd",
        "gopher://example.com",
        "https:///path",
        "https://user:secret@example.com",
        "https://example.com@127.0.0.1",
        "https://example.com#@127.0.0.1",
        "https://example.com\\@127.0.0.1",
        "https://exa mple.com",
        "https://example.com/\r\nX: 1",
        "https://bücher.example",
        "https://127。0。0。1",
        "https://localhost.",
        "https://example.com.",
        "https://2130706433",
        "https://0x7f000001",
        "https://0x7f.1",
        "https://0177.0.0.1",
        "https://127.1",
        "https://127.0.0.01",
        "https://[fe80::1%25eth0]",
        "https://[::1",
        "https://[v1.a]",
        "https://-a.example",
        "https://a..example",
        "https://example.com:22",
        "https://example.com:80",
        "https://example.com:99999",
        "https://example.com:x",
        "https://example.com/" + "a" * 2_000,
    ],
)
def test_an_unusual_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"^must "):
        read_destination(url)


REFUSED = [
    "0.0.0.0", "10.1.2.3", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1", "3fff::1", "5f00::1",
    "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1",
]  # fmt: skip


@pytest.mark.promise(
    "webhooks, destinations: only global unicast addresses are allowed, embedded IPv4 addresses included"
)
@pytest.mark.parametrize("text", REFUSED)
def test_an_address_that_is_not_global_is_refused(text: str) -> None:
    assert not is_allowed(ip_address(text), ())


@pytest.mark.parametrize(
    "text", ["1.1.1.1", "93.184.216.34", "172.32.0.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1"]
)
def test_a_global_address_is_allowed(text: str) -> None:
    assert is_allowed(ip_address(text), ())
    assert not is_listed(ip_address(text), ())


@pytest.mark.parametrize("text", ["10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::a01:203", "2002:a01:203::1"])
def test_a_listed_network_is_allowed_in_every_notation(text: str) -> None:
    networks = (ip_network("10.1.0.0/16"),)
    assert is_allowed(ip_address(text), networks)
    assert is_listed(ip_address(text), networks)
    assert not is_allowed(ip_address("10.2.0.1"), networks)
