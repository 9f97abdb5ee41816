"""Use cases of the account that handlers call."""

from dataclasses import dataclass

from application.identity.account.accounts import Accounts
from application.identity.account.registration import Registration


@dataclass(frozen=True, kw_only=True)
class AccountUseCases:
    registration: Registration
    accounts: Accounts
