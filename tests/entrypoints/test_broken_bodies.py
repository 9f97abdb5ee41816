"""Bodies in broken chunks, as they come over a socket: refused in the envelope, with a line in the log."""

import json
import socket
from urllib.parse import urlsplit

import pytest

from tests.entrypoints.processes import Serve
from tests.waiting import HUNG_AFTER

HEAD = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"

BROKEN = {
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
    for name, body in BROKEN.items():
        for path in (b"/api/auth/login", b"/api/auth/refresh"):
            with socket.create_connection((address.hostname, address.port), timeout=HUNG_AFTER) as wire:
                wire.sendall(HEAD % path + body)
                wire.shutdown(socket.SHUT_WR)
                received = b"".join(iter(lambda: wire.recv(65_536), b""))
            head, _, text = received.partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 400 "), (name, path, received)
            assert b"x-ratelimit-remaining" in head.lower()
            assert json.loads(text)["errorCode"] == "VALIDATION_ERROR"
