"""HTTP client for social providers: no redirects, a size limit, and answers decoded into structs."""

import logging
from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from domain.errors import ServiceUnavailable

if TYPE_CHECKING:
    from ssl import SSLContext

    import httpx2

LONGEST_ANSWER = 64 * 1024
LONGEST_TOKEN = 8 * 1024

REGISTRATION_ERRORS = frozenset(
    {"invalid_client", "unauthorized_client", "redirect_uri_mismatch", "incorrect_client_credentials"}
)
"""Error codes of a wrong registration: RFC 6749, 5.2, and GitHub's own. Wrong codes and tokens, which any visitor can
send, have other codes.
"""

FACEBOOK_REGISTRATION_CODES = frozenset({101, 191})
"""Values of ``error.code``: an unknown application, another redirect address."""

FACEBOOK_SAYS_WRONG = "Error validating client secret."
"""Facebook's message for a wrong secret; its error code also means unknown errors."""

T = TypeVar("T")

logging.getLogger("httpx2").setLevel(logging.WARNING)  # httpx2 logs URLs, some with tokens


class Question(Struct, frozen=True, kw_only=True):
    """Request to a provider: a POST if it has a ``body`` or a ``form``, with bearer or basic authorisation."""

    url: str
    parameters: Mapping[str, str] = {}
    bearer: str | None = None
    basic: tuple[str, str] | None = None
    body: Mapping[str, str] | None = None
    form: Mapping[str, str] | None = None


@cache
def _trusted() -> "SSLContext":
    """Trusted certificate authorities.

    Reading their file needs 60 ms, so clients share them.
    """
    import httpx2

    return httpx2.create_ssl_context()


class ProviderClient:
    """Sends requests to all providers over a shared connection pool."""

    @cached_property
    def _client(self) -> "httpx2.AsyncClient":
        # Import late: most services enable no provider.
        import httpx2

        # `identity`: a compressed answer could exceed the limit. The caller sets the timeout.
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "tenantry"}
        return httpx2.AsyncClient(headers=headers, follow_redirects=False, timeout=None, verify=_trusted())

    async def ask(self, question: Question, kind: type[T]) -> T | None:
        """Send the request and decode the response as ``kind``; return None if the provider refuses (4xx).

        Raises ServiceUnavailable for an outage, a timeout or a response of another shape.
        """
        import httpx2

        try:
            status, body = await self._answer(question)
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            # Security: `from None` and only the class, because the error's text may contain a URL with tokens.
            raise away(f"cannot be reached: {type(error).__name__}") from None
        if (wrong := _registration_error(question, status, body)) is not None:
            # Log the error for the operator, because only the operator can correct the registration.
            sentence = (
                "The social provider at %s refuses this service (%s): check client id, secret and redirect address."
            )
            logging.getLogger(__name__).warning(sentence, urlsplit(question.url).netloc, wrong)
        if 400 <= status < 500 and status not in (408, 429):  # a timeout or rate limit says nothing about the token
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
        headers = {"Authorization": f"Bearer {question.bearer}"} if question.bearer else {}
        method = "GET" if question.body is None and question.form is None else "POST"
        async with self._client.stream(
            method,
            question.url,
            params=dict(question.parameters) or None,
            headers=headers,
            auth=question.basic,
            json=question.body,
            data=question.form,
        ) as response:
            pieces: list[bytes] = []
            async for piece in response.aiter_raw():
                pieces.append(piece)
                if sum(map(len, pieces)) > LONGEST_ANSWER:
                    raise away("answers too much")  # leaving the block closes the connection unread
            return response.status_code, b"".join(pieces)


class _Refusal(Struct, frozen=True):
    """Body of a provider's refusal: the error is a text, but an object from Facebook."""

    error: "str | _FacebookError" = ""


class _FacebookError(Struct, frozen=True):
    code: int = 0
    message: str = ""


def _registration_error(question: Question, status: int, body: bytes) -> str | None:
    """Return the error in the service's registration, else None.

    GitHub refuses a login code with status 200, and a wrong client id or secret with 401.
    """
    if status == 401 and question.basic is not None:
        return "401"
    if question.form is None:
        return None
    try:
        error = msgspec.json.decode(body, type=_Refusal).error
    except (ValueError, msgspec.MsgspecError):
        return None
    if isinstance(error, _FacebookError):
        is_ours = error.code in FACEBOOK_REGISTRATION_CODES or error.message == FACEBOOK_SAYS_WRONG
        return f"code {error.code}" if is_ours else None
    return error if error in REGISTRATION_ERRORS else None


def away(why: str) -> ServiceUnavailable:
    """Log ``why`` and return the caller's error, which only says to try again."""
    logging.getLogger(__name__).warning("A social provider %s.", why)
    return ServiceUnavailable("The provider cannot answer this now: try again shortly.")


def fits_a_header(token: str) -> bool:
    """Return whether the token fits in a header, as every provider's token does."""
    return 0 < len(token) <= LONGEST_TOKEN and token.isascii() and token.isprintable() and " " not in token
