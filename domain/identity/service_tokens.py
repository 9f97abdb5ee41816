"""Claims of the tokens that service accounts get for their keys."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from domain.identity.service_accounts import KeyState
from domain.identity.tokens import Claims
from domain.scope import session_subject, user_subject


class ServiceIssue(Struct, frozen=True, kw_only=True):
    """Values of an issue: issuer and audience of the service, the new token's id and its greatest lifetime.

    ``leeway`` is the time beyond its end for which a token is still taken, as clocks may differ.
    """

    issuer: str
    audience: str
    jti: UUID
    lifetime: timedelta
    leeway: timedelta


def service_claims(state: KeyState, permissions: Sequence[str], now: datetime, issue: ServiceIssue) -> Claims:
    """Claims of a token that stands for the account, with ``permissions`` of those that the key has.

    It is an ordinary Tenant Token, so that all that kills tokens kills it; it ends with its key at the latest.
    """
    account, issued, seconds = state.account, state.issued, int(now.timestamp())
    user, session = user_subject(account.id), session_subject(state.key.id)
    ends = seconds + int(issue.lifetime.total_seconds())
    if state.key.ends_at is not None:
        # A token is taken for a moment beyond its end, and a key is not.
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
