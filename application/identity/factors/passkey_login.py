"""Login with only a passkey: it proves possession and user verification, so it needs neither a password nor a second
step.
"""

from dataclasses import dataclass
from uuid import UUID

from msgspec import Struct

from application.identity.factors.forms import Assertion, Begun
from application.identity.factors.passkeys import Passkeys, VerifiedPasskey
from application.identity.login.forms import LoginResult
from application.identity.login.sign_in import SignIn
from application.ports.database import Database
from application.ports.identity.factors import FactorTransaction
from application.ports.runtime import Clock, Outcomes
from application.retry import retry_on_conflict
from domain.errors import ValidationError
from domain.identity.factors import combined
from domain.identity.logins import Login
from domain.identity.users import AccountState
from domain.scope import SYSTEM_TENANT_ID, Client, EveryTenant, event


class PasskeyLoginForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    state: str
    response: Assertion
    preferred_tenant_id: UUID | None = None
    requested_app_id: str | None = None


@dataclass(frozen=True)
class PasskeyLogin:
    database: Database[FactorTransaction]
    passkeys: Passkeys
    sign_in: SignIn
    outcomes: Outcomes
    clock: Clock

    async def begin(self) -> Begun:
        return await self.passkeys.begin_login()

    async def finish(self, form: PasskeyLoginForm, client: Client) -> LoginResult:
        """Finish a passkey login. Raises ValidationError on ``state`` or ``response``, and errors of every login."""
        try:
            passkey = await self.passkeys.logged_in(form.state, form.response, client)
            state = await self._used(passkey, client)
        except ValidationError:
            self.outcomes.count("passkey", "refused")
            await self._note_refusal(client)
            raise
        self.outcomes.count("passkey", "accepted")
        # Every login passes the gate: a tenant may require more than this passkey.
        login = Login(
            state=state,
            methods=combined((), passkey.methods),
            preferred=form.preferred_tenant_id,
            app_id=form.requested_app_id,
        )
        return await self.sign_in.complete_login(login, client)

    @retry_on_conflict
    async def _used(self, passkey: VerifiedPasskey, client: Client) -> AccountState:
        factor, now = passkey.factor, self.clock.now()
        assert factor.credential is not None
        async with self.database.transaction(EveryTenant()) as tx:
            state = await tx.users.state(factor.user_id)
            if state is None or not await tx.factors.use_credential(factor.id, passkey.seen, factor.credential, now):
                raise ValidationError.on("response", "was used at the same time elsewhere: try again")
            await tx.audit.add(SYSTEM_TENANT_ID, event("factor.used", factor.user_id, factor.id, client, now))
        return state

    async def _note_refusal(self, client: Client) -> None:
        async with self.database.autocommit(EveryTenant()) as tx:
            await tx.audit.add(SYSTEM_TENANT_ID, event("login.failed", None, None, client, self.clock.now()))
