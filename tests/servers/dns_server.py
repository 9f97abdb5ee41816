"""A name server on this machine, over UDP and TCP, with the records that a test gives it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal, cast

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

LONGEST_DATAGRAM = 1232


@dataclass
class DnsServer:
    """``texts`` and ``aliases`` by name without the last dot; ``mood`` is how every question is answered."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    mood: Literal["answers", "fails", "is silent", "talks nonsense"] = "answers"
    asked: list[str] = field(default_factory=list)
    port: int = 0

    def answer(self, data: bytes, most: int) -> bytes | None:
        query = dns.message.from_wire(data)
        (question,) = query.question
        self.asked.append(question.name.to_text())
        if self.mood == "is silent":
            return None
        if self.mood == "talks nonsense":
            return b"\x00" * 7
        response = dns.message.make_response(query)
        if self.mood == "fails":
            response.set_rcode(dns.rcode.SERVFAIL)
            return response.to_wire()
        self._fill(response, question.name)
        wire = response.to_wire()
        if len(wire) <= most:
            return wire
        # The rest is asked for over TCP.
        cut = dns.message.make_response(query)
        cut.flags |= dns.flags.TC
        return cut.to_wire()

    def _fill(self, response: dns.message.Message, name: dns.name.Name) -> None:
        text = name.to_text(omit_final_dot=True).lower()
        if (target := self.aliases.get(text)) is not None:
            alias = dns.rrset.from_text(name, 60, "IN", "CNAME", f"{target}.")
            response.answer.append(alias)
            name, text = dns.name.from_text(target), target
        if text not in self.texts:
            response.set_rcode(dns.rcode.NXDOMAIN)
        elif self.texts[text]:
            response.answer.append(dns.rrset.from_text(name, 60, "IN", "TXT", *self.texts[text]))


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, answer: Callable[[bytes, int], bytes | None]) -> None:
        self._answer = answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are none of asyncio's classes.
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        if (answer := self._answer(data, LONGEST_DATAGRAM)) is not None:
            self._transport.sendto(answer, addr)


@asynccontextmanager
async def open_dns_server() -> AsyncIterator[DnsServer]:
    server = DnsServer()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(2))
        if (answer := server.answer(await reader.readexactly(size), 65535)) is not None:
            writer.write(len(answer).to_bytes(2) + answer)
        writer.close()

    over_tcp = await asyncio.start_server(serve, "127.0.0.1", 0)
    server.port = over_tcp.sockets[0].getsockname()[1]
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        lambda: _Datagrams(server.answer), local_addr=("127.0.0.1", server.port)
    )
    try:
        yield server
    finally:
        transport.close()
        over_tcp.close()
        await over_tcp.wait_closed()
