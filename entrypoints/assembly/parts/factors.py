"""Use cases of second factors and passkeys on adapters."""

from dataclasses import dataclass

from adapters.http.identity.factors.part import FactorUseCases
from adapters.prometheus.outcomes import SecondFactorCounts
from application.identity.factors.forms import RelatedOrigins
from application.identity.factors.my_factors import MyFactors
from application.identity.factors.passkey_login import PasskeyLogin
from application.identity.factors.passkeys import Passkeys
from application.identity.factors.proofs import FactorProofs
from application.identity.factors.reauthentication import Reauthentication
from application.identity.factors.registering import FactorRegistration
from application.identity.factors.resets import FactorResets
from application.identity.factors.second_factor import SecondFactor
from entrypoints.assembly.adapters import Adapters
from entrypoints.assembly.parts.shared import SharedObjects
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class FactorServices(FactorUseCases):
    factor_counts: SecondFactorCounts


def assemble_factors(adapters: Adapters, settings: Settings, shared: SharedObjects) -> FactorServices:
    database, clock, ids, tickets = adapters.database, adapters.clock, adapters.ids, adapters.tickets
    secrets, counts = adapters.second_factors.secrets, SecondFactorCounts()
    passkeys = Passkeys(database, adapters.second_factors.passkeys, tickets, clock, ids)
    proofs = FactorProofs(database, secrets, passkeys, counts, clock, ids)
    # Share the passkey ceremonies, because registration and proofs both need them.
    registration = FactorRegistration(
        tickets, secrets, passkeys, adapters.second_factors.qr_svg, clock, ids, settings.totp_issuer
    )
    return FactorServices(
        reauthentication=Reauthentication(database, shared.authentication, shared.issuing, proofs, clock),
        second_factor=SecondFactor(database, tickets, proofs, registration, shared.sign_in, shared.renewal, clock),
        passkey_login=PasskeyLogin(database, passkeys, shared.sign_in, counts, clock),
        my_factors=MyFactors(database, adapters.social, registration, shared.issuing.gate, clock, ids),
        factor_resets=FactorResets(database, adapters.revocations, clock, ids),
        # Omit apps: they use the hash of their key as origin (android:apk-key-hash:…), and browsers ignore such
        # origins.
        related_origins=RelatedOrigins([name for name in settings.passkey_origins if name.startswith("http")]),
        factor_counts=counts,
    )
