"""Settings with addresses that cannot be taken apart: a sentence, wherever they are read later."""

import pytest
from redis.asyncio import Redis

from adapters.redis.client import redis_client
from entrypoints.settings.settings import VARIABLES, SettingsError, read_settings

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
def test_no_setting_takes_an_address_that_cannot_be_taken_apart(broken: str) -> None:
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
