"""Use cases of second factors on adapters."""

from dataclasses import dataclass

from adapters.http.operations.outcomes import OutcomeCounts
from application.identity.factors.my_factors import MyFactors
from application.identity.factors.passkey_login import PasskeyLogin
from application.identity.factors.passkeys import Passkeys
from application.identity.factors.proofs import FactorProofs
from application.identity.factors.registering import FactorRegistration
from application.identity.factors.reproofs import FactorReproofs
from application.identity.factors.second_factor import SecondFactor
from application.identity.login.issuing import TokenIssuing
from application.identity.login.reauthentication import Reauthentication
from application.identity.login.sign_in import SignIn
from application.ports.identity.sessions import Authentication
from entrypoints.composition import Adapters


@dataclass(frozen=True, kw_only=True)
class FactorUseCases:
    """Login, and everything around its second half."""

    sign_in: SignIn
    reauthentication: Reauthentication
    reproofs: FactorReproofs
    second_factor: SecondFactor
    passkey_login: PasskeyLogin
    my_factors: MyFactors
    outcomes: OutcomeCounts


def assemble_factors(
    adapters: Adapters, *, sign_in: SignIn, authentication: Authentication, issuing: TokenIssuing, issuer: str
) -> FactorUseCases:
    database, clock, ids, tickets = adapters.database, adapters.clock, adapters.ids, adapters.tickets
    secrets, outcomes = adapters.second_factors.secrets, OutcomeCounts()
    passkeys = Passkeys(database, adapters.second_factors.passkeys, tickets, clock, ids)
    proofs = FactorProofs(database, secrets, passkeys, outcomes, clock, ids)
    # Passkeys are made, and shown, by the same ceremonies: registration and proofs each know their half.
    registration = FactorRegistration(tickets, secrets, passkeys, adapters.second_factors.qr_svg, clock, ids, issuer)
    reproofs = FactorReproofs(database, proofs, passkeys)
    return FactorUseCases(
        sign_in=sign_in,
        reauthentication=Reauthentication(database, authentication, issuing, reproofs, clock),
        reproofs=reproofs,
        second_factor=SecondFactor(database, tickets, proofs, registration, passkeys, sign_in, clock),
        passkey_login=PasskeyLogin(database, passkeys, sign_in, outcomes, clock),
        my_factors=MyFactors(database, registration, issuing.gate, clock, ids),
        outcomes=outcomes,
    )
