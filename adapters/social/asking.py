"""Questions to a provider: no redirects, little to read, and an answer of the shape asked for or none at all."""

import logging
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Struct

from domain.errors import ServiceUnavailable

if TYPE_CHECKING:
    import httpx2

LONGEST_ANSWER = 64 * 1024
LONGEST_TOKEN = 8 * 1024

T = TypeVar("T")

logging.getLogger("httpx2").setLevel(logging.WARNING)  # it logs URLs, and some of them hold tokens


class Question(Struct, frozen=True, kw_only=True):
    """``bearer`` goes into the Authorization header, ``basic`` is a name and a secret for it."""

    url: str
    parameters: Mapping[str, str] = {}
    bearer: str | None = None
    basic: tuple[str, str] | None = None
    body: Mapping[str, str] | None = None


class ProviderClient:
    """One pool of connections for all providers, made for the first question: most services ask nobody."""

    @cached_property
    def _client(self) -> "httpx2.AsyncClient":
        import httpx2  # noqa: PLC0415

        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "tenantry"}
        return httpx2.AsyncClient(headers=headers, follow_redirects=False, timeout=None)

    async def ask(self, question: Question, kind: type[T]) -> T | None:
        """None for a refusal (4xx); raises ServiceUnavailable for everything that is no answer."""
        import httpx2  # noqa: PLC0415

        try:
            status, body = await self._answer(question)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise away(f"cannot be reached: {type(error).__name__}") from None
        if 400 <= status < 500 and status not in (408, 429):
            return None
        if status != 200:
            raise away(f"answers {status}")
        try:
            return msgspec.json.decode(body, type=kind)
        except (ValueError, msgspec.MsgspecError):
            raise away("answers what was not asked") from None

    async def close(self) -> None:
        if "_client" in vars(self):
            await self._client.aclose()

    async def _answer(self, question: Question) -> tuple[int, bytes]:
        """Leaving the stream closes the connection with whatever else would have come."""
        headers = {"Authorization": f"Bearer {question.bearer}"} if question.bearer else {}
        method = "GET" if question.body is None else "POST"
        async with self._client.stream(
            method,
            question.url,
            params=dict(question.parameters) or None,
            headers=headers,
            auth=question.basic,
            json=question.body,
        ) as response:
            pieces: list[bytes] = []
            async for piece in response.aiter_raw():
                pieces.append(piece)
                if sum(map(len, pieces)) > LONGEST_ANSWER:
                    raise away("answers too much")
            return response.status_code, b"".join(pieces)


def away(why: str) -> ServiceUnavailable:
    """``why`` is for the log: the caller only learns to come again."""
    logging.getLogger(__name__).warning("A social provider %s.", why)
    return ServiceUnavailable("The provider cannot answer this now: try again shortly.")


def is_sendable(token: str) -> bool:
    """Whether it can stand in a header: nothing else was ever issued by anybody."""
    return 0 < len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable() and " " not in token
