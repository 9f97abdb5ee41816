"""Passkeys: creation, use as a second factor, and login with only a passkey."""

import secrets as random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from application.identity.factors.forms import Assertion, Begun, wrong_ticket
from application.ports.database import Database
from application.ports.identity.factors import Credential, Factor, FactorTransaction
from application.ports.identity.passkeys import PasskeyCeremonies, Seen
from application.ports.identity.sessions import Tickets
from application.ports.identity.users import own_notice
from application.ports.runtime import Clock, Ids
from application.retry import retry_on_conflict
from domain.errors import ValidationError
from domain.identity.users import User
from domain.scope import SYSTEM_TENANT_ID, Client, EveryTenant, event

LIFETIME = timedelta(minutes=5)
CHALLENGE_BYTES, HANDLE_BYTES = 32, 32

Ceremony = Literal["make", "show", "login"]


class PasskeyState(Struct, frozen=True):
    """State of a WebAuthn ceremony; ``user_id`` is None if the user is unknown, as in a login."""

    challenge: bytes
    ceremony: Ceremony
    user_id: UUID | None


class VerifiedPasskey(Struct, frozen=True, kw_only=True):
    """A verified assertion: the factor with its new state, and the ``amr`` of the assertion."""

    factor: Factor
    seen: int
    methods: tuple[str, ...]


class NewPasskey(Struct, frozen=True, kw_only=True):
    """A new passkey, and the ``amr`` of its creation."""

    credential: Credential
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Passkeys:
    database: Database[FactorTransaction]
    ceremonies: PasskeyCeremonies
    tickets: Tickets
    clock: Clock
    ids: Ids

    async def begin(self, user: User, factors: Sequence[Factor]) -> Begun:
        """Begin a new passkey; exclude passkeys that can log the user in.

        A passkey registered before the first proof of the address is only a second factor, so the user may register it
        again.
        """
        async with self.database.autocommit(EveryTenant()) as tx:
            handle = await tx.passkey_handles.of(user.id, random.token_bytes(HANDLE_BYTES))
        challenge, names = random.token_bytes(CHALLENGE_BYTES), (user.email, user.full_name)
        known = [credential for credential in credentials_of(factors) if credential.uv_initialized]
        options = await self.ceremonies.creation(handle, names, known, challenge)
        return Begun(state=self._sealed(challenge, "make", user.id), options=options)

    async def made(self, user_id: UUID, state: str, response: Assertion) -> NewPasskey:
        """Return the new passkey and use up the state. Raises ValidationError on ``state`` or ``response``."""
        challenge = await self._consumed(state, "make", user_id)
        credential = await self.ceremonies.created(response, challenge)
        if credential is None:
            raise _wrong_response()
        methods = methods_of(credential, is_user_verified=credential.uv_initialized)
        return NewPasskey(credential=credential, methods=methods)

    async def ask(self, user_id: UUID, factors: Sequence[Factor]) -> Begun:
        """Return a request for one of the user's passkeys. Raises ValidationError if the user has no passkey."""
        known = credentials_of(factors)
        # Security: an empty list would allow any passkey of the service, including another user's.
        if not known:
            raise ValidationError.on("method", "is not set up for this account")
        challenge = random.token_bytes(CHALLENGE_BYTES)
        options = await self.ceremonies.request(known, challenge, is_login=False)
        return Begun(state=self._sealed(challenge, "show", user_id), options=options)

    async def verified(
        self, user_id: UUID, state: str, response: Assertion, factors: Sequence[Factor], client: Client
    ) -> VerifiedPasskey:
        """Return the verified passkey and use up the state. Raises ValidationError on ``state`` or ``response``."""
        challenge = await self._consumed(state, "show", user_id)
        credential_id = await self.ceremonies.credential_id(response)
        own = {factor.credential.id: factor for factor in factors if factor.credential is not None}
        # Security: another user's passkey is not a factor of this account, even if valid.
        if credential_id is None or credential_id not in own:
            raise _wrong_response()
        return await self._verify(own[credential_id], response, challenge, client)

    async def begin_login(self) -> Begun:
        """Request any passkey of this service without naming a user, to reveal nothing about accounts."""
        challenge = random.token_bytes(CHALLENGE_BYTES)
        options = await self.ceremonies.request([], challenge, is_login=True)
        return Begun(state=self._sealed(challenge, "login", None), options=options)

    async def logged_in(self, state: str, response: Assertion, client: Client) -> VerifiedPasskey:
        """Return the passkey of a login. Raises ValidationError on ``state`` or ``response``."""
        challenge = await self._consumed(state, "login", None)
        credential_id = await self.ceremonies.credential_id(response)
        if credential_id is None:
            raise _wrong_response()
        async with self.database.read_only(EveryTenant()) as read:
            factor = await read.factors.by_credential(credential_id)
        if factor is None:
            raise _wrong_response()
        passkey = await self._verify(factor, response, challenge, client, is_login=True)
        # Without user verification a passkey proves only possession (WebAuthn Level 3, uvInitialized), so it is at most
        # a second factor.
        if "user" not in passkey.methods:
            raise _wrong_response()
        return passkey

    async def _verify(
        self, factor: Factor, response: Assertion, challenge: bytes, client: Client, *, is_login: bool = False
    ) -> VerifiedPasskey:
        stored = factor.credential
        assert stored is not None
        seen = await self.ceremonies.asserted(response, challenge, stored)
        # The backup eligibility of a credential is fixed (WebAuthn, section 6.1.3), so another value means another
        # credential.
        if seen is None or seen.backup_eligible != stored.backup_eligible:
            raise _wrong_response()
        async with self.database.autocommit(EveryTenant()) as tx:
            handle = await tx.passkey_handles.of(factor.user_id, random.token_bytes(HANDLE_BYTES))
        # Browsers may omit the user handle if the request named credentials. A login names none, so it needs the
        # handle.
        if seen.user_handle != handle and (is_login or seen.user_handle is not None):
            raise _wrong_response()
        if is_cloned(stored, seen):
            await self._note_clone(factor, client)
            raise _wrong_response()
        credential = replace(stored, counter=seen.counter, backed_up=seen.backed_up)
        verified = seen.is_user_verified and stored.uv_initialized
        return VerifiedPasskey(
            factor=replace(factor, credential=credential),
            seen=stored.counter,
            methods=methods_of(credential, is_user_verified=verified),
        )

    @retry_on_conflict
    async def _note_clone(self, factor: Factor, client: Client) -> None:
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            state = await tx.users.state(factor.user_id)
            await tx.audit.add(SYSTEM_TENANT_ID, event("factor.cloned", factor.user_id, factor.id, client, now))
            if state is not None:
                await tx.outbox.add(own_notice(self.ids.new(), "factor-cloned", state.user, client, now))

    def _sealed(self, challenge: bytes, ceremony: Ceremony, user_id: UUID | None) -> str:
        return self.tickets.seal("passkey", PasskeyState(challenge, ceremony, user_id), self.clock.now() + LIFETIME)

    async def _consumed(self, text: str, ceremony: Ceremony, user_id: UUID | None) -> bytes:
        """Challenge of a state, valid only once, even after a failure."""
        now = self.clock.now()
        opened = self.tickets.open("passkey", text, PasskeyState, now)
        if opened is None or (opened.content.ceremony, opened.content.user_id) != (ceremony, user_id):
            raise wrong_ticket("state")
        async with self.database.autocommit(EveryTenant()) as tx:
            if not await tx.used_nonces.consume(opened.id, opened.until, now):
                raise wrong_ticket("state")
        return opened.content.challenge


def credentials_of(factors: Sequence[Factor]) -> list[Credential]:
    return [factor.credential for factor in factors if factor.credential is not None]


def is_cloned(stored: Credential, seen: Seen) -> bool:
    """Return whether the counter indicates a copied key: it must grow once it was used."""
    return bool(stored.counter or seen.counter) and seen.counter <= stored.counter


def methods_of(credential: Credential, *, is_user_verified: bool) -> tuple[str, ...]:
    """Return the ``amr`` of a passkey: ``swk`` if several devices can store it, else ``hwk``."""
    key = "swk" if credential.backup_eligible else "hwk"
    return (key, "user") if is_user_verified else (key,)


def _wrong_response() -> ValidationError:
    return ValidationError.on("response", "is not a response of a registered passkey")
