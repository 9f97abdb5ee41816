"""Login methods of a user: the service refuses to remove the last one."""

from collections.abc import Collection
from typing import Protocol

from application.ports.identity.accounts import AccountTransaction
from application.ports.identity.factors import FactorTransaction
from domain.errors import Conflict
from domain.identity.users import User


class LoginMethodTransaction(AccountTransaction, FactorTransaction, Protocol):
    """Transaction for changes of login methods."""


async def ensure_login_method(tx: LoginMethodTransaction, user: User, providers: Collection[str]) -> None:
    """Raise Conflict if the user has no password, passkey or identity of ``providers`` to log in with.

    The caller MUST lock the user's row, so that concurrent removals leave one login method.
    """
    if user.password_hash is not None:
        return
    # A disabled provider does not allow login.
    if any(identity.provider in providers for identity in await tx.social.of_user(user.id)):
        return
    # An old security key without user verification is only a second factor.
    factors = await tx.factors.of(user.id)
    if not any(factor.credential is not None and factor.credential.uv_initialized for factor in factors):
        raise Conflict("This is your only way to log in: set a password or add a passkey first.")
