"""Settings with addresses that cannot be taken apart: a sentence, wherever they are read later.

Bodies in broken chunks, as they come over a socket: refused in the envelope, with a line in the log.
"""

import json
import socket
from urllib.parse import urlsplit

import pytest
from redis.asyncio import Redis

from adapters.redis.client import redis_client
from entrypoints.settings.settings import VARIABLES, SettingsError, read_settings
from tests.entrypoints.processes import Serve
from tests.waiting import HUNG_AFTER

KEY = "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD"

BROKEN = (
    "https://[", "http://[::1", "http://[a:b]", "https://host:port", "https://host:99999", "https://\u2100.example",
    "postgresql://[", "postgresql://h:1,[:2/d", "postgresql://h:1,h2]:2/d", "postgresql://h:1,h2:port/d",
    "postgresql:///d?host=/run&port=five", "postgresql://h/d?target_session_attrs=none",
    "redis://[", "redis://h:99999", "redis://h/abc", "redis://h/1/2", "redis://h/-1", "redis://h?foo=bar",
    "redis://h?socket_timeout=abc", "redis://h?socket_timeout=0", "redis://h?db=x", "redis://h?ssl_ca_certs=/ca.pem",
    "redis://h?socket_timeout=", "redis://h/0#part", "unix:///run/valkey.sock?db=x", "rediss://h?ssl_cert_reqs=maybe",
    "redis+cluster://[", "redis+sentinel://h:port/name",
    "smtp://[", "smtp://h:port", "smtps://h:99999", "[", "a:b", "::1]",
)  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_no_setting_accepts_an_address_that_cannot_be_parsed(broken: str) -> None:
    addresses = [name for name in VARIABLES if name.endswith(("_URL", "_URLS", "_ORIGINS", "HOST"))]
    assert len(addresses) > 12
    for name in addresses:
        with pytest.raises(SettingsError) as refused:
            read_settings({"TENANTRY_SECRET_KEY": KEY, f"TENANTRY_{name}": broken})
        assert any(mistake.startswith(f"TENANTRY_{name} got ") for mistake in refused.value.mistakes)


TAKEN = (
    "redis://h", "redis://h/", "redis://:p%40@h:6380/15", "redis://h?db=3", "redis://h/0?socket_timeout=0.5",
    "redis://h?socket_connect_timeout=2&socket_keepalive=1&health_check_interval=30&client_name=tenantry",
    "rediss://h/1?ssl_ca_certs=/etc/ca.pem&ssl_cert_reqs=none&ssl_check_hostname=false", "unix:///run/valkey.sock?db=3",
)  # fmt: skip


@pytest.mark.parametrize("url", TAKEN)
def test_urls_of_redis_that_are_taken_open_a_client(url: str) -> None:
    settings = read_settings({"TENANTRY_REDIS_URL": url})
    assert settings.redis_url is not None
    client = redis_client(settings.redis_url.reveal())
    assert isinstance(client, Redis)
    client.connection_pool.make_connection()  # type: ignore[no-untyped-call]  # redis-py leaves it without types


HEAD = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

BROKEN_OF_BROKEN_BODIES = {
    "a size that is no number": b"zz\r\n{}\r\n0\r\n\r\n",
    "no size": b"\r\n{}\r\n0\r\n\r\n",
    "a negative size": b"-1\r\n{}\r\n0\r\n\r\n",
    "a size with a sign": b"+2\r\n{}\r\n0\r\n\r\n",
    "a size with a prefix": b"0x2\r\n{}\r\n0\r\n\r\n",
    "a size with an underscore": b"1_0\r\n{}\r\n0\r\n\r\n",
    "a size beyond 64 bits": b"ffffffffffffffffff\r\n{}",
    "lines that end in a line feed": b"2\n{}\n0\n\n",
    "a line feed in an extension": b"2;a\nb\r\n{}\r\n0\r\n\r\n",
    "more than the size": b"1\r\n{}\r\n0\r\n\r\n",
    "no line end behind the piece": b"2\r\n{}X0\r\n\r\n",
    "a broken trailer": b"2\r\n{}\r\n0\r\nbad trailer\r\n\r\n",
    "an end in the middle": b"5\r\n{}",
}


@pytest.mark.promise(
    "security, input: a body that breaks off or comes in broken chunks is a 400 in the envelope, counted and logged"
)
def test_a_body_in_broken_chunks_is_a_bad_request(serve: Serve, migrated: dict[str, str]) -> None:
    address = urlsplit(serve(**migrated).url)
    assert address.hostname is not None
    assert address.port is not None
    for name, body in BROKEN_OF_BROKEN_BODIES.items():
        for path in (b"/api/auth/login", b"/api/auth/refresh"):
            with socket.create_connection((address.hostname, address.port), timeout=HUNG_AFTER) as wire:
                wire.sendall(HEAD % path + body)
                wire.shutdown(socket.SHUT_WR)
                received = b"".join(iter(lambda: wire.recv(65_536), b""))
            head, _, text = received.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 400 "), (name, path, received)
            assert b"x-ratelimit-remaining" in head.lower()
            assert json.loads(text)["errorCode"] == "VALIDATION_ERROR"


@pytest.mark.promise("security, transport: HTTP/1.1 without Host is refused")
def test_only_http_1_1_needs_one_host(serve: Serve, migrated: dict[str, str]) -> None:
    address = urlsplit(serve(**migrated).url)
    assert address.hostname is not None
    assert address.port is not None
    two = b"1.1\r\nHost: x\r\nHost: y"
    for version, status in ((b"1.1", b"400"), (b"1.0", b"200"), (b"1.1\r\nHost: x", b"200"), (two, b"400")):
        with socket.create_connection((address.hostname, address.port), timeout=HUNG_AFTER) as wire:
            wire.sendall(b"GET /health/live HTTP/%b\r\nConnection: close\r\n\r\n" % version)
            received = b"".join(iter(lambda: wire.recv(65_536), b""))
        assert received.split(b" ")[1] == status, received
