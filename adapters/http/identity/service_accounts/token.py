"""/api/auth/token: OAuth 2.0 tokens for service accounts, and the metadata that announces this endpoint."""

import base64
import binascii
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import msgspec
from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency
from msgspec import Struct

from adapters.http.request.responses import NO_STORE, Json, bare
from adapters.http.request.rules import PUBLIC, UNLIMITED, action, operation, rules
from adapters.http.request.strict_request import StrictRequest
from application.identity.service_accounts.client_credentials import (
    GRANT_TYPE,
    ClientCredentials,
    TokenAnswer,
    TokenRefused,
    TokenRequest,
)
from domain.identity.service_accounts import TOKENS

FORM = "application/x-www-form-urlencoded"
LARGEST_FORM = 16 * 1024
PARAMETERS = 20
CACHED = {"cache-control": "public, max-age=300", "vary": "Origin"}

FORM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["grant_type"],
    "properties": {
        "grant_type": {"type": "string", "const": GRANT_TYPE},
        "client_id": {"type": "string", "format": "uuid", "description": "Id of the service account."},
        "client_secret": {"type": "string", "description": "A key of it; or both by HTTP Basic."},
        "scope": {"type": "string", "description": "Permissions with one blank between them; all without it."},
    },
}


class ServerMetadata(Struct, frozen=True, kw_only=True):
    """Authorization server metadata (RFC 8414), which an OAuth library reads before it requests a token."""

    issuer: str
    token_endpoint: str
    jwks_uri: str
    grant_types_supported: tuple[str, ...] = (GRANT_TYPE,)
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic", "client_secret_post")
    response_types_supported: tuple[str, ...] = ()


def refused(_: Request[Any, Any, Any], refusal: TokenRefused) -> Json:
    """Return the refusal in the form of RFC 6749, section 5.2."""
    is_client = refusal.code == "invalid_client"
    challenge = {"www-authenticate": 'Basic realm="tenantry"'} if is_client else {}
    body = msgspec.json.encode({"error": refusal.code, "error_description": refusal.description})
    return Json(body, 401 if is_client else 400, {**NO_STORE, "pragma": "no-cache", **challenge})


class TokenController(Controller):
    path = "/api/auth/token"
    tags = ("service-accounts",)
    opt = rules(area="OAuth", limit=TOKENS)

    @post(
        "/",
        **action(
            "oauth.token",
            "Get a token with client credentials",
            PUBLIC,
            "INVALID_CREDENTIALS",
            "PAYLOAD_TOO_LARGE",
            "UNSUPPORTED_MEDIA_TYPE",
            form={FORM: {"schema": FORM_SCHEMA}},
        ),
        description="RFC 6749, section 4.4: `client_id` is the id of a service account, `client_secret` one of its "
        "keys, both in the body or both by HTTP Basic. There is no refresh token. The key's networks hold here, not "
        "for the token. 400 is `invalid_request`, `invalid_scope` or `unsupported_grant_type`.",
        request_max_body_size=LARGEST_FORM,
        exception_handlers={TokenRefused: refused},
    )
    async def token(
        self, request: StrictRequest, client_credentials: NamedDependency[ClientCredentials]
    ) -> Response[TokenAnswer]:
        form = await read_token_request(request)
        return bare(await client_credentials.token(form, request.from_client), headers={"pragma": "no-cache"})


class MetadataController(Controller):
    path = "/.well-known/oauth-authorization-server"
    tags = ("keys",)
    opt = rules(area="B", any_query=True, limit=UNLIMITED)

    @get("/", **operation("oauth.metadata", "Where tokens are asked for, for OAuth libraries", PUBLIC))
    async def metadata(self, client_credentials: NamedDependency[ClientCredentials]) -> Response[ServerMetadata]:
        issuer = client_credentials.policy.issuer
        metadata = ServerMetadata(
            issuer=issuer, token_endpoint=f"{issuer}/api/auth/token", jwks_uri=f"{issuer}/.well-known/jwks.json"
        )
        return Json(msgspec.json.encode(metadata), headers=CACHED)


async def read_token_request(request: StrictRequest) -> TokenRequest:
    """Read the token request from its form and header. Raises TokenRefused if it violates RFC 6749."""
    kind = (request.header(b"content-type") or "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise TokenRefused("invalid_request", f"Send the body as {FORM}.")
    given = _read_form(await request.body())
    by_header = _read_basic(request.header(b"authorization"))
    if by_header is not None and ("client_secret" in given or given.get("client_id", by_header[0]) != by_header[0]):
        raise TokenRefused("invalid_request", "Send client_id and client_secret in the header or in the body.")
    client_id, secret = by_header or (given.get("client_id"), given.get("client_secret"))
    if not client_id or not secret:
        raise TokenRefused("invalid_client", "Send client_id and client_secret.")
    if not (grant_type := given.get("grant_type")):
        raise TokenRefused("invalid_request", "grant_type is required.")
    return TokenRequest(
        grant_type=grant_type, client_id=client_id, client_secret=secret, scope=given.get("scope") or None
    )


def _read_form(body: bytes) -> dict[str, str]:
    """Ignore empty and unknown parameters, as the RFC requires."""
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=PARAMETERS)
    except ValueError:
        raise TokenRefused("invalid_request", "The body is no form in UTF-8.") from None
    given = dict(pairs)
    if len(given) != len(pairs):
        raise TokenRefused("invalid_request", "A parameter is sent twice.")
    if any("\0" in text for pair in pairs for text in pair):
        raise TokenRefused("invalid_request", "NUL is not taken in text.")
    return given


def _read_basic(authorization: str | None) -> tuple[str, str] | None:
    """Id and secret of HTTP Basic, percent-encoded by RFC 6749; None without the header."""
    if authorization is None:
        return None
    scheme, _, encoded = authorization.partition(" ")
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        text = ""
    client_id, colon, secret = text.partition(":")
    if scheme.lower() != "basic" or not colon:
        raise TokenRefused("invalid_client", "Send client_id and client_secret by HTTP Basic or in the body.")
    return unquote_plus(client_id), unquote_plus(secret)
