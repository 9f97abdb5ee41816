"""Second factors: accepted kinds, a tenant's requirement, and the next step of a login."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from domain.identity.users import FACTOR_KINDS, Method, OwnFactors, TenantSecurity
from domain.lockout import Lockout

METHODS: tuple[Method, ...] = (*FACTOR_KINDS, "recovery")
MOST_FACTORS = 20
MOST_TOTP = 3
"""Maximum apps: more would give each guess more valid codes."""

FACTOR_NAME_LENGTH = 100
FACTOR_GUESSES = Lockout(5, timedelta(minutes=15))
"""Lock after consecutive wrong second factors, over all networks."""

NO_SECURITY = TenantSecurity()


def changed_security(before: TenantSecurity, after: TenantSecurity, now: datetime) -> TenantSecurity:
    """Return the new settings. They record since when the tenant requires a second factor."""
    if not after.require_mfa:
        return replace(after, required_since=None)
    return replace(after, required_since=before.required_since if before.require_mfa else now)


class Demand(Struct, frozen=True, kw_only=True):
    """Requirement of a second factor. Empty ``methods`` mean all; ``deadline`` is the end of the grace period."""

    required: bool = False
    methods: tuple[Method, ...] = ()
    deadline: datetime | None = None


def demand_of(security: TenantSecurity | None, joined_at: datetime, *, service_requires: bool) -> Demand:
    """Return the combined demands of the tenant and the service; the service gives no grace."""
    own = security or NO_SECURITY
    if not own.require_mfa:
        return Demand(required=service_requires)
    since = max(own.required_since or joined_at, joined_at)
    grace = timedelta(days=own.mfa_grace_days)
    deadline = since + grace if grace and not service_requires else None
    return Demand(required=True, methods=own.mfa_methods, deadline=deadline)


class Step(Struct, frozen=True, kw_only=True):
    """Next step of a login. ``methods`` are those to use or enrol; ``deadline`` is the end of the grace period."""

    outcome: Literal["in", "challenge", "enrolment"]
    methods: tuple[Method, ...] = ()
    deadline: datetime | None = None


_IN = Step(outcome="in")
_METHOD_OF: dict[str, Method] = {"otp": "totp", "rec": "recovery", "hwk": "passkey", "swk": "passkey"}
_FIRST = frozenset({"pwd", "social", "sso"})


def combined(before: Iterable[str], added: Iterable[str]) -> tuple[str, ...]:
    """Return both ``amr`` claims in order, without duplicates, and ``mfa`` after proofs of two kinds.

    A passkey with user verification (``user``) counts as two factors.
    """
    methods = tuple(dict.fromkeys((*before, *added)))
    has_second = any(method in _METHOD_OF for method in methods)
    is_double = has_second and ("user" in methods or not _FIRST.isdisjoint(methods))
    return (*methods, "mfa") if is_double and "mfa" not in methods else methods


def further(before: Iterable[str], added: Iterable[str]) -> tuple[str, ...]:
    """Return the claim ``amr`` of a login or session after a factor was ``added`` to the proofs ``before``.

    Sessions older than the claim have an empty ``before``; the user has proved a first factor in them too.
    """
    former = tuple(before)
    methods = combined(former, added)
    is_second = not former and "mfa" not in methods and any(method in _METHOD_OF for method in methods)
    return (*methods, "mfa") if is_second else methods


def step_needed(own: OwnFactors, demand: Demand, proofs: tuple[str, ...], now: datetime) -> Step:
    """Return the next step of a login after ``proofs`` (the claim ``amr``), by the gate's truth table."""
    allowed = demand.methods if demand.required else ()
    is_double = "mfa" in proofs
    if is_double and (not allowed or any(_METHOD_OF.get(method) in allowed for method in proofs)):
        return _IN
    if not own.kinds:
        return _without_factors(demand, now)
    fitting = tuple(method for method in own.methods if not allowed or method in allowed)
    if fitting:
        return Step(outcome="challenge", methods=fitting)
    # A user without two proofs must first use an existing factor, even if the tenant requires another kind.
    return _enrolment(demand) if is_double else Step(outcome="challenge", methods=own.methods)


def _without_factors(demand: Demand, now: datetime) -> Step:
    if not demand.required:
        return _IN
    if demand.deadline is not None and now < demand.deadline:
        return Step(outcome="in", deadline=demand.deadline)
    return _enrolment(demand)


def _enrolment(demand: Demand) -> Step:
    # Recovery codes are created with a factor, so a user cannot enrol them separately.
    kinds = tuple(kind for kind in FACTOR_KINDS if not demand.methods or kind in demand.methods)
    return Step(outcome="enrolment", methods=kinds or FACTOR_KINDS)
