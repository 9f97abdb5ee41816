"""Addresses of Redis, as they are written in the setting."""

import pytest
from msgspec.structs import replace

from adapters.redis.address import RedisAddress, read_address

GOOD = [
    ("redis://h", RedisAddress(kind="server", url="", hosts=(("h", 6379),))),
    ("rediss://u:p@h:6380/2", RedisAddress(kind="server", url="", hosts=(("h", 6380),), tls=True)),
    ("unix:///run/valkey.sock?db=3", RedisAddress(kind="server", url="")),
    (
        "redis+sentinel://h/main",
        RedisAddress(kind="sentinel", url="", hosts=(("h", 26379),), master="main"),
    ),
    (
        "rediss+sentinel://u:p%40@a,b:1,[::1]:2/main%201/3?sentinel_password=s%26&sentinel_user=w",
        RedisAddress(
            kind="sentinel",
            url="",
            hosts=(("a", 26379), ("b", 1), ("::1", 2)),
            tls=True,
            user="u",
            password="p@",
            master="main 1",
            database=3,
            sentinel_user="w",
            sentinel_password="s&",
        ),
    ),
    ("redis+cluster://a,b:7001", RedisAddress(kind="cluster", url="", hosts=(("a", 6379), ("b", 7001)))),
    ("redis+cluster://:p@a/", RedisAddress(kind="cluster", url="", hosts=(("a", 6379),), password="p")),
]
BAD = [
    "h:6379",
    "http://h",
    "redis+sentinel://h",
    "redis+sentinel://h/",
    "redis+sentinel:///main",
    "redis+sentinel://h/main/one",
    "redis+sentinel://h/main?db=1",
    "redis+sentinel://h/main?sentinel_password",
    "redis+sentinel://h:port/main",
    "redis+sentinel://h,,k/main",
    "redis+cluster://",
    "redis+cluster://h/1",
    "redis+cluster://h?db=0",
    "redis+cluster://h:70000",
    "redis+cluster://[::1:1",
]


@pytest.mark.parametrize(("text", "expected"), GOOD, ids=[text for text, _ in GOOD])
def test_an_address_is_read(text: str, expected: RedisAddress) -> None:
    found = read_address(text)
    assert found.url == text
    assert replace(found, url="") == expected


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the setting says what it takes
        read_address(text)
