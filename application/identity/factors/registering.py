"""Enrolment of a factor: started with a sealed state, and stored only after a correct first code or assertion."""

import secrets as random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from application.identity.factors.forms import Begun, FinishForm, wrong_ticket
from application.identity.factors.passkeys import Passkeys
from application.identity.factors.proofs import WRONG_CODE, UsedNonce, consume_nonce
from application.ports.identity.factors import Factor, FactorSecrets, FactorTransaction
from application.ports.identity.sessions import Tickets
from application.ports.identity.users import own_notice
from application.ports.runtime import Clock, Ids
from domain.errors import Conflict, ValidationError
from domain.identity.factors import MOST_FACTORS, MOST_TOTP
from domain.identity.typed_codes import (
    CODE_BYTES,
    CODES,
    SECRET_BYTES,
    base32,
    matching_step,
    otpauth_uri,
    recovery_digest,
    typed_code,
)
from domain.identity.users import FactorKind, User
from domain.scope import SYSTEM_TENANT_ID, Client, event

LIFETIME = timedelta(minutes=10)
"""Time to type a secret into an app, and its first code."""

NAMES: dict[FactorKind, str] = {"totp": "Authenticator app", "passkey": "Passkey"}


class TotpState(Struct, frozen=True):
    """An app during its enrolment."""

    user_id: UUID
    secret: bytes


class NewFactor(Struct, frozen=True, kw_only=True):
    """A factor to store, the ``amr`` of its first use, and the nonces that it uses up."""

    factor: Factor
    methods: tuple[str, ...]
    used_nonces: tuple[UsedNonce, ...]


@dataclass(frozen=True)
class FactorRegistration:
    tickets: Tickets
    secrets: FactorSecrets
    passkeys: Passkeys
    drawn: Callable[[str], str]
    clock: Clock
    ids: Ids
    issuer: str

    async def begin(self, kind: FactorKind, user: User, factors: Sequence[Factor]) -> Begun:
        """Begin a factor. Raises Conflict at the maximum number of factors."""
        ensure_room(kind, factors)
        if kind == "passkey":
            return await self.passkeys.begin(user, factors)
        # The sealed state contains the secret, so an unconfirmed enrolment stores no row.
        secret = random.token_bytes(SECRET_BYTES)
        uri = otpauth_uri(secret, user.email, self.issuer)
        state = self.tickets.seal("totp", TotpState(user.id, secret), self.clock.now() + LIFETIME)
        return Begun(state=state, secret=base32(secret), uri=uri, qr_svg=self.drawn(uri))

    def begun_kind(self, form: FinishForm) -> FactorKind:
        """Return the kind of factor to finish; without ``code`` and ``response`` that of the state.

        Raises ValidationError on the missing field.
        """
        if isinstance(form.code, str):
            return "totp"
        if form.response is UNSET:
            is_app = self.tickets.open("totp", form.state, TotpState, self.clock.now()) is not None
            raise ValidationError.on("code" if is_app else "response", "is required")
        return "passkey"

    async def finish(self, kind: FactorKind, user_id: UUID, form: FinishForm) -> NewFactor:
        """Finish a factor. Raises ValidationError on ``state``, ``code`` or ``response``."""
        if kind == "passkey":
            if form.response is UNSET:
                raise ValidationError.on("response", "is required")
            made = await self.passkeys.made(user_id, form.state, form.response)
            factor = self._factor(kind, user_id, form.name, credential=made.credential)
            return NewFactor(factor=factor, methods=made.methods, used_nonces=())
        return self._app(user_id, form)

    def _app(self, user_id: UUID, form: FinishForm) -> NewFactor:
        if form.code is UNSET:
            raise ValidationError.on("code", "is required")
        now = self.clock.now()
        opened = self.tickets.open("totp", form.state, TotpState, now)
        # Security: a state of another account must not set a secret known to that user.
        if opened is None or opened.content.user_id != user_id:
            raise wrong_ticket("state")
        secret = opened.content.secret
        step = matching_step(secret, form.code, now)
        if step is None:
            raise ValidationError.on("code", WRONG_CODE)
        # The confirming code counts as used, so a login cannot reuse it.
        factor = self._factor("totp", user_id, form.name, sealed=self.secrets.seal(user_id, secret), last_step=step)
        return NewFactor(factor=factor, methods=("otp",), used_nonces=(UsedNonce(opened.id, opened.until, "state"),))

    def _factor(self, kind: FactorKind, user_id: UUID, name: str | UnsetType, **more: Any) -> Factor:
        now = self.clock.now()
        chosen = NAMES[kind] if name is UNSET else name
        return Factor(
            id=self.ids.new(), user_id=user_id, kind=kind, name=chosen, created_at=now, last_used_at=now, **more
        )

    async def add(self, tx: FactorTransaction, user: User, new: NewFactor, client: Client) -> list[str]:
        """Store the factor; with the first factor, create and return recovery codes.

        The caller MUST have locked the user's row. Raises Conflict, and ValidationError for a used ticket or state.
        """
        now, before = self.clock.now(), await tx.factors.of(user.id)
        ensure_room(new.factor.kind, before)
        for nonce in new.used_nonces:
            await consume_nonce(tx, nonce, now)
        await tx.factors.add(new.factor)
        # A user who loses the only factor needs another way to log in, so create recovery codes with the first factor.
        codes = [] if before else await self.renew_codes(tx, user, client)
        await tx.audit.add(SYSTEM_TENANT_ID, event("factor.added", user.id, new.factor.id, client, now))
        await tx.outbox.add(own_notice(self.ids.new(), "factor-added", user, client, now))
        return codes

    async def renew_codes(self, tx: FactorTransaction, user: User, client: Client) -> list[str]:
        """Return new recovery codes, and invalidate the old ones."""
        codes = [typed_code(random.token_bytes(CODE_BYTES)) for _ in range(CODES)]
        digests = [digest for code in codes if (digest := recovery_digest(code)) is not None]
        await tx.recovery_codes.replace(user.id, digests)
        line = event("recovery-codes.made", user.id, user.id, client, self.clock.now())
        await tx.audit.add(SYSTEM_TENANT_ID, line)
        return codes


def ensure_room(kind: FactorKind, factors: Sequence[Factor]) -> None:
    """Raise Conflict at the maximum number of factors, or of apps."""
    apps = sum(factor.kind == "totp" for factor in factors)
    if len(factors) >= MOST_FACTORS or (kind == "totp" and apps >= MOST_TOTP):
        raise Conflict("There are as many factors as there may be: remove one first.")
