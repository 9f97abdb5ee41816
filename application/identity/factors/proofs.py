"""Verification of a second factor: the service counts guesses, and accepts a correct code only once."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from application.identity.factors.forms import Assertion, Begun, wrong_ticket
from application.identity.factors.passkeys import Passkeys, VerifiedPasskey
from application.ports.database import Database
from application.ports.identity.factors import Factor, FactorSecrets, FactorTransaction
from application.ports.identity.users import own_notice
from application.ports.runtime import Clock, Ids, Outcomes
from application.retry import retry_on_conflict
from domain.errors import AccountLocked, FieldError, ValidationError
from domain.identity.factors import FACTOR_GUESSES
from domain.identity.typed_codes import matching_step, recovery_digest
from domain.identity.users import Method, User, guesses_of
from domain.scope import SYSTEM_TENANT_ID, Client, EveryTenant, event

EVERYWHERE = "everywhere"
"""Network for counting guesses over all networks."""

WRONG_CODE = "is wrong or was used before"


class Proof(Struct, frozen=True, kw_only=True):
    """A presented second factor: a code, or a passkey's state and response."""

    method: Method
    code: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    response: Assertion | UnsetType = UNSET


class UsedNonce(Struct, frozen=True):
    """Id of a ticket consumed with a proof or with a new factor; stored until ``until``."""

    id: str
    until: datetime
    field: str = "ticket"


class MatchedStep(Struct, frozen=True):
    """Time step of a matching code, and the app's secret to store."""

    factor_id: UUID
    step: int
    sealed: str


@dataclass(frozen=True)
class FactorProofs:
    """Verification of a second factor.

    Guesses are counted over all networks, because an attacker needs a passed first factor to make them.
    """

    database: Database[FactorTransaction]
    secrets: FactorSecrets
    passkeys: Passkeys
    outcomes: Outcomes
    clock: Clock
    ids: Ids

    async def ask(self, user_id: UUID) -> Begun:
        """Return a request for one of the user's passkeys. Raises ValidationError if the user has no passkey."""
        async with self.database.read_only(EveryTenant()) as read:
            factors = await read.factors.of(user_id)
        return await self.passkeys.ask(user_id, factors)

    async def show(self, user: User, proof: Proof, client: Client, ticket: UsedNonce | None = None) -> tuple[str, ...]:
        """Return the proof's ``amr``; reset earlier guesses and use the ticket up.

        Raises ValidationError on the proof's field or ``ticket``, and AccountLocked after too many guesses.
        """
        _ensure_complete(proof)
        factors = await self._reserved(user, proof)
        try:
            methods = await self._check(user, factors, proof, client, ticket)
        except ValidationError:
            # Only a correct proof refunds the guess.
            self.outcomes.count(proof.method, "refused")
            async with self.database.autocommit(EveryTenant()) as tx:
                await self._audit(tx, "factor.refused", user, user.id, client)
            raise
        self.outcomes.count(proof.method, "accepted")
        return methods

    async def _reserved(self, user: User, proof: Proof) -> list[Factor]:
        async with self.database.autocommit(EveryTenant()) as tx:
            # Security: count before checking, so that parallel guesses cannot bypass the lock.
            if await tx.attempts.reserve(guesses_of(user.id), EVERYWHERE, FACTOR_GUESSES, self.clock.now()):
                return await tx.factors.of(user.id)
        self.outcomes.count(proof.method, "locked")
        raise AccountLocked("Too many wrong codes: second factors are locked for a while.")

    async def _check(
        self, user: User, factors: list[Factor], proof: Proof, client: Client, ticket: UsedNonce | None
    ) -> tuple[str, ...]:
        if proof.method == "passkey":
            assert proof.state is not UNSET
            assert proof.response is not UNSET
            passkey = await self.passkeys.verified(user.id, proof.state, proof.response, factors, client)
            return await self._use_passkey(user, passkey, client, ticket)
        assert proof.code is not UNSET
        code = proof.code
        if proof.method == "recovery":
            return await self._use_recovery_code(user, recovery_digest(code), client, ticket)
        return await self._use_step(user, self._matching(user, factors, code), client, ticket)

    def _matching(self, user: User, factors: list[Factor], code: str) -> MatchedStep | None:
        now = self.clock.now()
        for factor in factors:
            secret = None if factor.sealed is None else self.secrets.open(user.id, factor.sealed)
            step = None if secret is None else matching_step(secret, code, now)
            if secret is not None and step is not None:
                # Encrypt the app's secret again at each use, so that it is encrypted with the current secret key.
                return MatchedStep(factor.id, step, self.secrets.seal(user.id, secret))
        return None

    @retry_on_conflict
    async def _use_step(
        self, user: User, found: MatchedStep | None, client: Client, ticket: UsedNonce | None
    ) -> tuple[str, ...]:
        async with self.database.transaction(EveryTenant()) as tx:
            # The database accepts only one use of a code.
            if found is None or not await tx.factors.use_step(
                found.factor_id, found.step, found.sealed, self.clock.now()
            ):
                raise ValidationError.on("code", WRONG_CODE)
            await self._accept(tx, user, found.factor_id, client, ticket)
        return ("otp",)

    @retry_on_conflict
    async def _use_recovery_code(
        self, user: User, digest: bytes | None, client: Client, ticket: UsedNonce | None
    ) -> tuple[str, ...]:
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            if digest is None or not await tx.recovery_codes.use(user.id, digest, now):
                raise ValidationError.on("code", WRONG_CODE)
            await self._accept(tx, user, user.id, client, ticket)
            await self._audit(tx, "recovery-codes.used", user, user.id, client)
            await tx.outbox.add(own_notice(self.ids.new(), "recovery-code-used", user, client, now))
        return ("rec",)

    @retry_on_conflict
    async def _use_passkey(
        self, user: User, passkey: VerifiedPasskey, client: Client, ticket: UsedNonce | None
    ) -> tuple[str, ...]:
        credential = passkey.factor.credential
        assert credential is not None
        async with self.database.transaction(EveryTenant()) as tx:
            if not await tx.factors.use_credential(passkey.factor.id, passkey.seen, credential, self.clock.now()):
                raise ValidationError.on("response", "was used at the same time elsewhere: try again")
            await self._accept(tx, user, passkey.factor.id, client, ticket)
        return passkey.methods

    async def _accept(
        self, tx: FactorTransaction, user: User, factor_id: UUID, client: Client, ticket: UsedNonce | None
    ) -> None:
        if ticket is not None:
            await self._consume(tx, ticket)
        await tx.attempts.forgive(guesses_of(user.id), EVERYWHERE, self.clock.now())
        await self._audit(tx, "factor.used", user, factor_id, client)

    async def _consume(self, tx: FactorTransaction, ticket: UsedNonce) -> None:
        await consume_nonce(tx, ticket, self.clock.now())

    async def _audit(self, tx: FactorTransaction, action: str, user: User, target: UUID, client: Client) -> None:
        await tx.audit.add(SYSTEM_TENANT_ID, event(action, user.id, target, client, self.clock.now()))


async def consume_nonce(tx: FactorTransaction, ticket: UsedNonce, now: datetime) -> None:
    """Use the ticket up. Raises ValidationError on its field if it was used before."""
    if not await tx.used_nonces.consume(ticket.id, ticket.until, now):
        raise wrong_ticket(ticket.field)


def _ensure_complete(proof: Proof) -> None:
    """Raises ValidationError for an incomplete proof; it does not count as a guess."""
    parts = {"state": proof.state, "response": proof.response} if proof.method == "passkey" else {"code": proof.code}
    if missing := [FieldError(field, "is required for this method") for field in parts if parts[field] is UNSET]:
        raise ValidationError(fields=missing)
