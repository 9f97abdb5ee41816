"""Use cases of second factors that handlers call."""

from dataclasses import dataclass

from application.identity.factors.forms import RelatedOrigins
from application.identity.factors.my_factors import MyFactors
from application.identity.factors.passkey_login import PasskeyLogin
from application.identity.factors.reauthentication import Reauthentication
from application.identity.factors.resets import FactorResets
from application.identity.factors.second_factor import SecondFactor


@dataclass(frozen=True, kw_only=True)
class FactorUseCases:
    reauthentication: Reauthentication
    second_factor: SecondFactor
    passkey_login: PasskeyLogin
    my_factors: MyFactors
    factor_resets: FactorResets
    related_origins: RelatedOrigins
