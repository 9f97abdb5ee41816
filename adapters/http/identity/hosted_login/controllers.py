"""Controllers of the sign-in pages."""

from adapters.http.identity.hosted_login.codes import LoginCodesController

CONTROLLERS = (LoginCodesController,)
