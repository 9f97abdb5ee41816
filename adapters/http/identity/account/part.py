"""Use cases and controllers of the account."""

from dataclasses import dataclass

from adapters.http.identity.account.accounts import AccountsController
from application.identity.account.accounts import Accounts
from application.identity.account.registration import Registration

CONTROLLERS = (AccountsController,)


@dataclass(frozen=True, kw_only=True)
class AccountUseCases:
    registration: Registration
    accounts: Accounts
