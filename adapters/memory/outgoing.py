"""Outgoing requests in a list, with answers that a test prepares."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec import Struct

from application.ports.outgoing import NotAnswered, Reply
from domain.entities.webhooks.destinations import read_destination


class Sent(Struct, frozen=True):
    """A request that was sent."""

    url: str
    headers: Mapping[str, str]
    body: bytes


def _answered(sent: Sent) -> Reply:  # noqa: ARG001  # one answer to all requests
    return Reply(200, None)


@dataclass
class MemoryRequests:
    """List of sent requests.

    ``answer`` answers a request or raises NotAnswered. Hosts that end with ``.internal`` are refused.
    """

    answer: Callable[[Sent], Reply] = _answered
    sent: list[Sent] = field(default_factory=list)

    async def ensure_allowed(self, url: str) -> None:
        try:
            destination = read_destination(url)
        except ValueError:
            raise NotAnswered("refused") from None
        if destination.scheme != "https" or destination.host.endswith(".internal"):
            raise NotAnswered("refused")

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Reply:
        await self.ensure_allowed(url)
        sent = Sent(url, headers, body)
        self.sent.append(sent)
        return self.answer(sent)
