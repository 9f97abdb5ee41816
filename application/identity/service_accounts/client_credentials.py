"""Tokens for service accounts by client credentials (RFC 6749, section 4.4), with the key as client secret."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from application.identity.service_accounts.key_authentication import KeyAuthentication, KnownKey
from application.ports.database import Database
from application.ports.identity.service_accounts import ServiceAccountTransaction
from application.ports.identity.sessions import Tokens
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Admissions
from domain.errors import Forbidden, RateLimited, Unauthorized
from domain.identity.service_accounts import TOKENS, looks_like_key
from domain.identity.service_tokens import ServiceIssue, service_claims
from domain.identity.tokens import grants_bytes
from domain.limits import Hit
from domain.scope import GRANTS_BYTES, Client, EveryTenant, event, is_permission, may_grant, smallest

GRANT_TYPE = "client_credentials"

Code = Literal["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope"]
"""Errors of RFC 6749, section 5.2."""


class TokenRefused(Exception):
    """Refusal of a token request, as in RFC 6749."""

    def __init__(self, code: Code, description: str) -> None:
        self.code: Code = code
        self.description = description
        super().__init__(description)


class TokenRequest(Struct, frozen=True, kw_only=True):
    """A token request, parsed from body and header; ``scope`` None requests all of the key's permissions."""

    grant_type: str
    client_id: str
    client_secret: str
    scope: str | None = None


class TokenAnswer(Struct, frozen=True, kw_only=True):
    """Response with RFC 6749's names; ``expires_in`` is in seconds, ``scope`` has permissions separated by blanks."""

    access_token: str
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105  # the kind of a token
    expires_in: int
    scope: str


class TokenPolicy(Struct, frozen=True, kw_only=True):
    """Token settings of service accounts; ``counts_limits`` counts limits, ``enforced`` also refuses requests."""

    issuer: str
    audience: str
    lifetime: timedelta
    leeway: timedelta
    counts_limits: bool
    enforced: bool


@dataclass(frozen=True)
class ClientCredentials:
    database: Database[ServiceAccountTransaction]
    keys: KeyAuthentication
    admissions: Admissions
    tokens: Tokens
    clock: Clock
    ids: Ids
    policy: TokenPolicy

    async def token(self, form: TokenRequest, client: Client) -> TokenAnswer:
        """Return a token for the account. Raises TokenRefused, and RateLimited."""
        if form.grant_type != GRANT_TYPE:
            raise TokenRefused("unsupported_grant_type", f"The only grant type here is {GRANT_TYPE}.")
        now = self.clock.now()
        known = await self._authenticated(form, client, now)
        await self._ensure_rate(known.state.account.id)
        permissions = _granted(known.caller.permissions, form.scope)
        if grants_bytes(permissions, known.state.account.roles) > GRANTS_BYTES:
            raise TokenRefused("invalid_scope", TOO_LARGE)
        issue = ServiceIssue(
            issuer=self.policy.issuer,
            audience=self.policy.audience,
            jti=self.ids.new(),
            lifetime=self.policy.lifetime,
            leeway=self.policy.leeway,
        )
        claims = service_claims(known.state, permissions, now, issue)
        # The key is valid, but its token would already be expired.
        if claims.exp <= claims.iat:
            raise TokenRefused("invalid_client", "The key ends in a moment.")
        await self._note(known, client, now)
        return TokenAnswer(
            access_token=self.tokens.sign(claims, now),
            expires_in=claims.exp - claims.iat,
            scope=" ".join(claims.permissions),
        )

    async def _authenticated(self, form: TokenRequest, client: Client, now: datetime) -> KnownKey:
        """Read the key from the database: a cached key may be outdated, and this request has no later version check."""
        if not looks_like_key(form.client_secret):
            raise TokenRefused("invalid_client", WRONG_CLIENT)
        try:
            known = await self.keys.known(form.client_secret, client, now)
            if str(known.state.account.id) != form.client_id.lower():
                # Security: give the same response if the key is valid but belongs to another account.
                raise TokenRefused("invalid_client", WRONG_CLIENT)
            return await self.keys.renewed(form.client_secret, client, now)
        except Unauthorized:
            raise TokenRefused("invalid_client", WRONG_CLIENT) from None
        except Forbidden as refusal:
            raise TokenRefused("invalid_client", refusal.message) from None

    async def _ensure_rate(self, account_id: UUID) -> None:
        # Security: count after the check of the secret, so that a client with only the account's id cannot exhaust its
        # limit.
        if not self.policy.counts_limits:
            return
        (verdict,) = (await self.admissions.admit([Hit(TOKENS, f"service:{account_id}")], None)).verdicts
        if not verdict.allowed and self.policy.enforced:
            raise RateLimited(verdict.retry_after)

    async def _note(self, known: KnownKey, client: Client, now: datetime) -> None:
        key = known.state.key
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.audit.add(key.tenant_id, event("token.issued", key.account_id, key.id, client, now))


TOO_LARGE = "A token cannot carry as much: ask for a narrower scope, or give the account fewer roles."
WRONG_CLIENT = "There is no such client, or its secret is wrong."


def _granted(held: tuple[str, ...], scope: str | None) -> tuple[str, ...]:
    """Permissions of the token. Raises TokenRefused for a wider scope than the key's."""
    if scope is None:
        return held
    # Limit the text before expensive work: no token could contain a longer scope.
    if len(scope) > GRANTS_BYTES:
        raise TokenRefused("invalid_scope", TOO_LARGE)
    # RFC 6749, section 3.3: exactly one blank separates names, so an empty name is an error.
    asked = scope.split(" ")
    if not all(map(is_permission, asked)):
        raise TokenRefused("invalid_scope", "The scope is a list of permissions with one blank between them.")
    if not may_grant(held, asked):
        raise TokenRefused("invalid_scope", "The key does not have every permission of the scope.")
    return smallest(asked)
