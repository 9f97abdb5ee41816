"""Controllers of second factors."""

from adapters.http.identity.factors.mfa import MfaController
from adapters.http.identity.factors.my_factors import FactorResetsController, FactorsController
from adapters.http.identity.factors.passkeys import PasskeysController
from adapters.http.identity.factors.reauthentication import ReauthenticationController

CONTROLLERS = (
    ReauthenticationController,
    MfaController,
    FactorsController,
    FactorResetsController,
    PasskeysController,
)
