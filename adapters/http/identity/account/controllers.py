"""Controllers of the account."""

from adapters.http.identity.account.accounts import AccountsController

CONTROLLERS = (AccountsController,)
