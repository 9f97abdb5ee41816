"""Claims of service accounts' tokens."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from domain.identity.service_accounts import KeyState
from domain.identity.tokens import Claims
from domain.scope import session_subject, user_subject


class ServiceIssue(Struct, frozen=True, kw_only=True):
    """Values for a token: the service's issuer and audience, the new id, and the maximum lifetime.

    The service accepts a token for the time ``leeway`` after its expiry, because clocks may differ.
    """

    issuer: str
    audience: str
    jti: UUID
    lifetime: timedelta
    leeway: timedelta


def service_claims(state: KeyState, permissions: Sequence[str], now: datetime, issue: ServiceIssue) -> Claims:
    """Return the claims of a token for the account; ``permissions`` are some or all of the key's.

    The result is an ordinary Tenant Token with the usual revocation. It expires no later than its key.
    """
    account, issued, seconds = state.account, state.issued, int(now.timestamp())
    user, session = user_subject(account.id), session_subject(state.key.id)
    ends = seconds + int(issue.lifetime.total_seconds())
    if state.key.ends_at is not None:
        # Tokens are accepted shortly after their end, but keys are not.
        ends = min(ends, int((state.key.ends_at - issue.leeway).timestamp()))
    return Claims(
        iss=issue.issuer,
        aud=issue.audience,
        sub=account.id,
        jti=issue.jti,
        sid=state.key.id,
        iat=seconds,
        nbf=seconds,
        exp=ends,
        token_type="Tenant",  # noqa: S106  # the kind of a token
        tenant_id=account.tenant_id,
        permissions=tuple(permissions),
        roles=tuple(sorted({role.name for role in account.roles})),
        name=account.name,
        email="",
        super_admin=account.is_super_admin,
        rev=issued[user],
        ver={subject: version for subject, version in issued.items() if subject not in (user, session)},
        kind="service",
    )
