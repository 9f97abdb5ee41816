"""A second factor shown anew in a session that lives."""

from dataclasses import dataclass

from msgspec import UNSET

from application.identity.factors.forms import Begun
from application.identity.factors.passkeys import Passkeys
from application.identity.factors.proofs import FactorProofs, Proof
from application.identity.login.reauthentication import ReauthenticationForm
from application.ports.database import Database
from application.ports.identity.factors import FactorTransaction
from domain.errors import ValidationError
from domain.identity.factor_codes import DIGITS
from domain.identity.users import User
from domain.scope import Caller, Client, EveryTenant


@dataclass(frozen=True)
class FactorReproofs:
    database: Database[FactorTransaction]
    proofs: FactorProofs
    passkeys: Passkeys

    async def ask(self, caller: Caller) -> Begun:
        """Asks for one of the caller's passkeys. Raises ValidationError when there is none."""
        async with self.database.read_only(EveryTenant()) as read:
            factors = await read.factors.of(caller.user_id)
        return await self.passkeys.ask(caller.user_id, factors)

    async def show_again(self, user: User, form: ReauthenticationForm, client: Client) -> tuple[str, ...]:
        """The ``amr`` of the factor. Raises ValidationError, also for a password alone, and AccountLocked."""
        # Half of a passkey's answer is refused by its missing field, and not taken for a missing code.
        if form.state is not UNSET or form.response is not UNSET:
            proof = Proof(method="passkey", state=form.state, response=form.response)
            return await self.proofs.show(user, proof, client)
        if form.code is UNSET:
            raise ValidationError.on("code", "is required: this account has a second factor, or show a passkey")
        # Codes of apps are digits alone, and shorter than a recovery code.
        is_totp = len("".join(form.code.split())) <= DIGITS
        return await self.proofs.show(user, Proof(method="totp" if is_totp else "recovery", code=form.code), client)
