"""Outgoing requests: they reach allowed addresses only, send exactly the given bytes, and end in time."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from adapters.memory.outgoing import MemoryRequests
from adapters.outgoing.client import READ_AT_MOST, CheckedRequests, TimeLimits
from adapters.outgoing.network import CheckedNetwork, resolve_by_dns
from application.ports.outgoing import FAILURES, Failure, NotAnswered, OutgoingRequests, Reply
from domain.entities.webhooks.destinations import Address
from tests.servers.receiver import Mood, Receiver, certificate, receiver
from tests.waiting import HUNG_AFTER

LOOPBACK = (ip_network("127.0.0.0/8"),)
PATIENT = TimeLimits(connect=HUNG_AFTER, total=HUNG_AFTER)
SHORT = TimeLimits(connect=HUNG_AFTER, total=0.2)
BODY = '{"é": "…"}'.encode()


class Names:
    """A DNS with the answers of a test: each lookup of a name takes the next answer, and the last one again."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._answers = {name: list(given) for name, given in answers.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str) -> Sequence[Address]:
        self.asked.append(host)
        given = self._answers.get(host, [[]])
        return [ip_address(text) for text in (given.pop(0) if len(given) > 1 else given[0])]


@pytest.fixture
async def server() -> AsyncIterator[Receiver]:
    async with receiver() as opened:
        yield opened


@pytest.fixture
async def requests() -> AsyncIterator[CheckedRequests]:
    opened = CheckedRequests(LOOPBACK, PATIENT)
    yield opened
    await opened.close()


async def failure_of(requests: OutgoingRequests, url: str) -> Failure:
    with pytest.raises(NotAnswered) as raised:
        await requests.post(url, {}, BODY)
    assert str(raised.value) == FAILURES[raised.value.failure]
    return raised.value.failure


@pytest.mark.parametrize("way", ["memory", "http"])
async def test_exactly_the_given_bytes_arrive(way: str, server: Receiver, requests: CheckedRequests) -> None:
    memory = MemoryRequests()
    outgoing: OutgoingRequests = memory if way == "memory" else requests
    url = "https://example.com/hooks?a=b" if way == "memory" else f"{server.url}/hooks?a=b"
    await outgoing.ensure_allowed(url)
    assert await outgoing.post(url, {"webhook-id": "msg_1"}, BODY) == Reply(200, None)
    if way == "memory":
        assert [(sent.url, sent.body) for sent in memory.sent] == [(url, BODY)]
    else:
        (arrived,) = server.arrived
        assert (arrived.path, arrived.body) == ("/hooks?a=b", BODY)
        assert arrived.headers["webhook-id"] == "msg_1"
        assert arrived.headers["host"] == f"127.0.0.1:{server.port}"


@pytest.mark.parametrize("way", ["memory", "http"])
@pytest.mark.parametrize("url", ["https://metadata.internal", "http://example.com", "ftp://example.com"])
async def test_a_url_that_is_not_allowed_is_refused(way: str, url: str) -> None:
    names = Names({"metadata.internal": [["10.0.0.1"]], "example.com": [["93.184.216.34"]]})
    outgoing: OutgoingRequests = MemoryRequests() if way == "memory" else CheckedRequests((), PATIENT, names)
    with pytest.raises(NotAnswered) as raised:
        await outgoing.ensure_allowed(url)
    assert raised.value.failure == "refused"
    assert await failure_of(outgoing, url) == "refused"


async def test_connections_are_used_again(server: Receiver, requests: CheckedRequests) -> None:
    for _ in range(5):
        await requests.post(server.url, {}, BODY)
    assert (len(server.arrived), server.connections) == (5, 1)


@pytest.mark.promise("webhooks, destinations: a redirect is not followed, and its answer counts as it is")
async def test_a_redirect_is_not_followed(server: Receiver, requests: CheckedRequests) -> None:
    server.status, server.headers = 302, {"Location": f"{server.url}/elsewhere", "Retry-After": "7"}
    assert await requests.post(server.url, {}, BODY) == Reply(302, "7")
    assert [arrived.path for arrived in server.arrived] == ["/"]


@pytest.mark.parametrize("name", ["rebinding.example", "several.example", "localhost", "unknown.example"])
@pytest.mark.promise(
    "webhooks, destinations: a name with a private address is refused, and the checked address is the one used"
)
async def test_a_name_that_leads_inside_is_refused(name: str, server: Receiver) -> None:
    names = Names(
        {
            "rebinding.example": [["93.184.216.34"], ["127.0.0.1"]],
            "several.example": [["93.184.216.34", "::ffff:127.0.0.1"]],
            "localhost": [["127.0.0.1", "::1"]],
        }
    )
    outgoing = CheckedRequests((), PATIENT, names)
    if name == "rebinding.example":
        await outgoing.ensure_allowed(f"https://{name}:{server.port}")
    expected = "unresolved" if name == "unknown.example" else "refused"
    assert await failure_of(outgoing, f"https://{name}:{server.port}") == expected
    assert server.connections == 0
    await outgoing.close()


async def test_the_checked_address_is_not_looked_up_again(tmp_path: Path) -> None:
    serving, trusting = certificate(tmp_path, "hooks.example")
    # The second answer would lead elsewhere: only the first lookup may be used.
    names = Names({"hooks.example": [["127.0.0.1"], ["127.9.9.9"]]})
    async with receiver(serving) as server:
        outgoing = CheckedRequests(LOOPBACK, PATIENT, names, trusting)
        assert (await outgoing.post(f"https://hooks.example:{server.port}/a", {}, BODY)).status == 200
        assert server.arrived[0].headers["host"] == f"hooks.example:{server.port}"
        await outgoing.close()
    assert names.asked == ["hooks.example"]


@pytest.mark.promise("webhooks, destinations: the certificate must be valid for the name of the URL")
async def test_a_certificate_of_another_name_is_refused(tmp_path: Path) -> None:
    serving, trusting = certificate(tmp_path, "hooks.example")
    names = Names({"other.example": [["127.0.0.1"]], "hooks.example": [["127.0.0.1"]]})
    async with receiver(serving) as server:
        for outgoing, name in (
            (CheckedRequests(LOOPBACK, PATIENT, names, trusting), "other.example"),
            (CheckedRequests(LOOPBACK, PATIENT, names), "hooks.example"),
        ):
            assert await failure_of(outgoing, f"https://{name}:{server.port}") == "unreachable"
            await outgoing.close()
        assert server.arrived == []


async def test_http_is_allowed_for_listed_networks_only(server: Receiver) -> None:
    outgoing = CheckedRequests((ip_network("10.0.0.0/8"),), PATIENT)
    assert await failure_of(outgoing, server.url) == "refused"
    assert server.connections == 0
    await outgoing.close()


@pytest.mark.promise(
    "webhooks, destinations: a receiver that hangs, resets or answers nonsense has not received the event"
)
@pytest.mark.parametrize(
    ("mood", "expected"),
    [("hangs", "timeout"), ("resets", "unreachable"), ("talks nonsense", "protocol")],
)
async def test_a_receiver_without_an_answer(server: Receiver, mood: Mood, expected: Failure) -> None:
    outgoing = CheckedRequests(LOOPBACK, SHORT if mood == "hangs" else PATIENT)
    server.mood = mood
    assert await failure_of(outgoing, server.url) in (expected, "protocol" if mood == "resets" else expected)
    await outgoing.close()


@pytest.mark.promise("webhooks, destinations: of an answer, the status counts, and at most 16 KiB of the body are read")
@pytest.mark.parametrize("mood", ["floods", "lies about the length", "trickles"])
async def test_the_body_of_an_answer_is_ignored(server: Receiver, requests: CheckedRequests, mood: Mood) -> None:
    server.mood = mood
    assert READ_AT_MOST == 16 * 1024
    assert (await requests.post(server.url, {}, BODY)).status == 200
    server.mood = "answers"
    assert (await requests.post(server.url, {}, BODY)).status == 200


async def test_a_closed_port_is_unreachable(requests: CheckedRequests) -> None:
    async with receiver() as gone:
        url = gone.url
    assert await failure_of(requests, url) == "unreachable"


async def test_a_name_that_takes_too_long_is_unresolved() -> None:
    async def silent(host: str) -> Sequence[Address]:
        await asyncio.Event().wait()
        return ()

    outgoing = CheckedRequests((), TimeLimits(connect=0.05, total=0.05), silent)
    with pytest.raises(NotAnswered) as raised:
        await outgoing.ensure_allowed("https://slow.example")
    assert raised.value.failure == "unresolved"
    assert await failure_of(outgoing, "https://slow.example") == "timeout"


async def test_a_name_without_dns_has_no_addresses() -> None:
    assert await resolve_by_dns("name.invalid") == ()


async def test_the_network_opens_no_unix_sockets() -> None:
    network = CheckedNetwork(resolve_by_dns, (), only_listed=False)
    with pytest.raises(NotAnswered):
        await network.connect_unix_socket("/var/run/docker.sock")
    await network.sleep(0)
