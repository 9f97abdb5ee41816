"""What the state of an account says at a login: whether it may be let in, and how old its password is."""

from datetime import datetime, timedelta

from domain.errors import AccountDisabled, EmailNotConfirmed
from domain.identity.users import User


# Called only once the caller has shown the password or holds a session: strangers learn nothing of an account.
def ensure_may_sign_in(user: User, *, confirmation_required: bool) -> None:
    """Raises AccountDisabled or EmailNotConfirmed."""
    if not user.is_active:
        raise AccountDisabled
    if confirmation_required and not user.email_confirmed:
        raise EmailNotConfirmed


def days_until_expiration(user: User, max_age_days: int, now: datetime) -> int | None:
    """Days until the password is too old, counting the current one, 0 afterwards; None when passwords do not age."""
    if max_age_days == 0 or user.password_set_at is None:
        return None
    remaining = user.password_set_at + timedelta(days=max_age_days) - now
    return max(0, -(-remaining // timedelta(days=1)))


def must_change_password(user: User, max_age_days: int, now: datetime) -> bool:
    return user.must_change_password or days_until_expiration(user, max_age_days, now) == 0
