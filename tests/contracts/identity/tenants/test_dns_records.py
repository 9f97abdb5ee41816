"""TXT records of a name: those of the very name, whole, and never an outage taken for their absence."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from adapters.dns.records import MOST_RECORDS, DnspythonRecords
from adapters.memory.dns import MemoryDnsRecords
from application.ports.identity.domains import DnsRecords, DnsUnavailable
from tests.servers.dns_server import DnsServer, open_dns_server
from tests.waiting import HUNG_AFTER

NAME = "_tenantry.acme.example"


class InMemory:
    """The fake, set up as the server is."""

    def __init__(self) -> None:
        self.dns = MemoryDnsRecords()

    def has(self, name: str, *texts: str) -> None:
        self.dns.records[name] = list(texts)

    def is_alias(self, name: str, target: str) -> None:
        self.dns.aliases[name] = target

    def goes_away(self) -> None:
        self.dns.is_away = True


class OverNetwork:
    def __init__(self, server: DnsServer) -> None:
        self.server = server
        self.dns: DnsRecords = DnspythonRecords(["127.0.0.1"], server.port, patience=HUNG_AFTER)

    def has(self, name: str, *texts: str) -> None:
        self.server.texts[name] = [_quoted(text) for text in texts]

    def is_alias(self, name: str, target: str) -> None:
        self.server.aliases[name] = target

    def goes_away(self) -> None:
        self.server.mood = "fails"


def _quoted(text: str) -> str:
    """A record in the form of zone files, in strings of at most 255 bytes."""
    parts = [text[at : at + 255] for at in range(0, len(text), 255)] or [""]
    return " ".join('"' + part.replace("\\", "\\\\").replace('"', '\\"') + '"' for part in parts)


@pytest_asyncio.fixture(params=["memory", "dnspython"])
async def names(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    if request.param == "memory":
        yield InMemory()
        return
    async with open_dns_server() as server:
        yield OverNetwork(server)


async def test_all_txt_records_of_a_name_are_returned(names: Any) -> None:
    names.has(NAME, "v=spf1 -all", "tenantry-verification=abc", 'a "quoted" one')
    assert sorted(await names.dns.texts(NAME)) == ['a "quoted" one', "tenantry-verification=abc", "v=spf1 -all"]


async def test_a_name_without_records_has_none(names: Any) -> None:
    names.has(NAME)
    assert list(await names.dns.texts(NAME)) == []
    assert list(await names.dns.texts("_tenantry.unknown.example")) == []


async def test_the_chunks_of_a_long_txt_record_are_joined(names: Any) -> None:
    names.has(NAME, "x" * 700)
    assert list(await names.dns.texts(NAME)) == ["x" * 700]


@pytest.mark.promise(
    "tenants, domains and requests to join: Aliases and wildcards to somebody else prove nothing; the record is "
    "compared to the letter"
)
async def test_txt_records_of_an_alias_target_are_ignored(names: Any) -> None:
    """A wildcard alias to a provider would let every customer of the provider prove the domain."""
    names.has("sites.provider.example", "tenantry-verification=abc")
    names.is_alias(NAME, "sites.provider.example")
    assert list(await names.dns.texts(NAME)) == []


@pytest.mark.promise(
    "tenants, domains and requests to join: no search list completes the name; an outage is no absence, and loses "
    "nothing"
)
async def test_a_dns_outage_differs_from_a_missing_record(names: Any) -> None:
    names.has(NAME, "tenantry-verification=abc")
    names.goes_away()
    with pytest.raises(DnsUnavailable):
        await names.dns.texts(NAME)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[DnsServer]:
    async with open_dns_server() as server:
        yield server


def asking(server: DnsServer, patience: float = 0.4) -> DnspythonRecords:
    return DnspythonRecords(["127.0.0.1"], server.port, patience=patience)


@pytest.mark.promise(
    "tenants, domains and requests to join: no search list completes the name; an outage is no absence, and loses "
    "nothing"
)
@pytest.mark.parametrize("mood", ["is silent", "talks nonsense"])
async def test_a_server_that_does_not_answer_is_an_outage_within_the_patience(server: DnsServer, mood: Any) -> None:
    server.mood = mood
    with pytest.raises(DnsUnavailable):
        await asking(server).texts(NAME)


async def test_a_server_that_is_not_there_is_an_outage(server: DnsServer) -> None:
    with pytest.raises(DnsUnavailable):
        await DnspythonRecords(["127.0.0.1"], 1, patience=0.4).texts(NAME)


async def test_an_answer_that_no_datagram_holds_is_asked_for_again(server: DnsServer) -> None:
    server.texts[NAME] = [_quoted(f"{number:03}" + "x" * 200) for number in range(MOST_RECORDS + 20)]
    texts = await asking(server, patience=HUNG_AFTER).texts(NAME)
    assert len(texts) == MOST_RECORDS
    assert server.asked == [f"{NAME}."] * 2


async def test_bytes_beyond_ascii_prove_nothing_and_break_nothing(server: DnsServer) -> None:
    server.texts[NAME] = ['"tenantry-verification=\\200\\255"', '"tenantry-verification=abc"']
    texts = await asking(server, patience=HUNG_AFTER).texts(NAME)
    assert "tenantry-verification=abc" in texts


@pytest.mark.promise(
    "tenants, domains and requests to join: no search list completes the name; an outage is no absence, and loses "
    "nothing"
)
async def test_the_name_is_asked_for_as_it_is(server: DnsServer) -> None:
    """Without a search list: a name below somebody else's domain proves nothing."""
    await asking(server, patience=HUNG_AFTER).texts("_tenantry.acme")
    assert server.asked == ["_tenantry.acme."]
