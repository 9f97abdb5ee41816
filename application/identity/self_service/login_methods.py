"""Ways in which a person logs in: one must be left when another is taken away."""

from collections.abc import Collection
from typing import Protocol

from application.ports.identity.accounts import AccountTransaction
from application.ports.identity.factors import FactorTransaction
from domain.errors import Conflict
from domain.identity.users import User


class LoginMethodTransaction(AccountTransaction, FactorTransaction, Protocol):
    """Parts of the database that hold the ways to log in."""


async def ensure_login_method(tx: LoginMethodTransaction, user: User, providers: Collection[str]) -> None:
    """Raises Conflict where neither a password nor an identity of ``providers`` nor a passkey logs the user in.

    The user's row must be locked, so that of two ways that are taken away at once one stays.
    """
    if user.password_hash is not None:
        return
    # A provider that the operator has turned off lets nobody in.
    if any(identity.provider in providers for identity in await tx.social.of_user(user.id)):
        return
    # An old security key that does not verify its user is a second factor only.
    factors = await tx.factors.of(user.id)
    if not any(factor.credential is not None and factor.credential.uv_initialized for factor in factors):
        raise Conflict("This is your only way to log in: set a password or add a passkey first.")
