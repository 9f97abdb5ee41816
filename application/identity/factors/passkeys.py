"""Passkeys: making one, showing one as a second factor, and logging in with nothing else."""

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
    """A ceremony that was begun; ``user_id`` is None where nobody is named, as for a login."""

    challenge: bytes
    ceremony: Ceremony
    user_id: UUID | None


class VerifiedPasskey(Struct, frozen=True, kw_only=True):
    """An assertion that verified: the factor with its new state, and the ``amr`` that it stands for."""

    factor: Factor
    seen: int
    methods: tuple[str, ...]


class NewPasskey(Struct, frozen=True, kw_only=True):
    """A passkey that was made, and the ``amr`` that making it stands for."""

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
        """Begins a new passkey; those that log the user in are excluded.

        One that is a second factor alone, since it is older than the first proof of the address, is registered anew.
        """
        async with self.database.autocommit(EveryTenant()) as tx:
            handle = await tx.passkey_handles.of(user.id, random.token_bytes(HANDLE_BYTES))
        challenge, names = random.token_bytes(CHALLENGE_BYTES), (user.email, user.full_name)
        known = [credential for credential in credentials_of(factors) if credential.uv_initialized]
        options = await self.ceremonies.creation(handle, names, known, challenge)
        return Begun(state=self._sealed(challenge, "make", user.id), options=options)

    async def made(self, user_id: UUID, state: str, response: Assertion) -> NewPasskey:
        """Uses the state up, whatever comes of it. Raises ValidationError on ``state`` or ``response``."""
        challenge = await self._consumed(state, "make", user_id)
        credential = await self.ceremonies.created(response, challenge)
        if credential is None:
            raise _wrong_response()
        methods = methods_of(credential, is_user_verified=credential.uv_initialized)
        return NewPasskey(credential=credential, methods=methods)

    async def ask(self, user_id: UUID, factors: Sequence[Factor]) -> Begun:
        """Asks for one of the user's passkeys. Raises ValidationError when there is none."""
        known = credentials_of(factors)
        # An empty list would ask for any passkey of the service, also for one of somebody else.
        if not known:
            raise ValidationError.on("method", "is not set up for this account")
        challenge = random.token_bytes(CHALLENGE_BYTES)
        options = await self.ceremonies.request(known, challenge, is_login=False)
        return Begun(state=self._sealed(challenge, "show", user_id), options=options)

    async def verified(
        self, user_id: UUID, state: str, response: Assertion, factors: Sequence[Factor], client: Client
    ) -> VerifiedPasskey:
        """Uses the state up, whatever comes of it. Raises ValidationError on ``state`` or ``response``."""
        challenge = await self._consumed(state, "show", user_id)
        credential_id = await self.ceremonies.credential_id(response)
        own = {factor.credential.id: factor for factor in factors if factor.credential is not None}
        # Security: a passkey of somebody else's is no factor of this account, however well it verifies.
        if credential_id is None or credential_id not in own:
            raise _wrong_response()
        return await self._verify(own[credential_id], response, challenge, client)

    async def begin_login(self) -> Begun:
        """Asks for any passkey of this service; nobody is named, so nothing is told about accounts."""
        challenge = random.token_bytes(CHALLENGE_BYTES)
        options = await self.ceremonies.request([], challenge, is_login=True)
        return Begun(state=self._sealed(challenge, "login", None), options=options)

    async def logged_in(self, state: str, response: Assertion, client: Client) -> VerifiedPasskey:
        """The passkey of a login. Raises ValidationError on ``state`` or ``response``, for any fault the same."""
        challenge = await self._consumed(state, "login", None)
        credential_id = await self.ceremonies.credential_id(response)
        if credential_id is None:
            raise _wrong_response()
        async with self.database.read_only(EveryTenant()) as read:
            factor = await read.factors.by_credential(credential_id)
        if factor is None:
            raise _wrong_response()
        passkey = await self._verify(factor, response, challenge, client, is_login=True)
        # Without verification it proves possession alone (WebAuthn Level 3, uvInitialized): a second factor at most.
        if "user" not in passkey.methods:
            raise _wrong_response()
        return passkey

    async def _verify(
        self, factor: Factor, response: Assertion, challenge: bytes, client: Client, *, is_login: bool = False
    ) -> VerifiedPasskey:
        stored = factor.credential
        assert stored is not None
        seen = await self.ceremonies.asserted(response, challenge, stored)
        # Eligibility is fixed for the life of a credential (WebAuthn, section 6.1.3): a change means another one.
        if seen is None or seen.backup_eligible != stored.backup_eligible:
            raise _wrong_response()
        async with self.database.autocommit(EveryTenant()) as tx:
            handle = await tx.passkey_handles.of(factor.user_id, random.token_bytes(HANDLE_BYTES))
        # Browsers leave the handle out where credentials were named; a login names none and needs it.
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
        """The challenge of a state, which serves once, whatever comes of it."""
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
    """Whether the counter says that there are two of the key: it must grow as soon as it was ever used."""
    return bool(stored.counter or seen.counter) and seen.counter <= stored.counter


def methods_of(credential: Credential, *, is_user_verified: bool) -> tuple[str, ...]:
    """``amr`` of a passkey: ``swk`` for one that is kept on several devices, ``hwk`` for one that cannot be."""
    key = "swk" if credential.backup_eligible else "hwk"
    return (key, "user") if is_user_verified else (key,)


def _wrong_response() -> ValidationError:
    return ValidationError.on("response", "is no answer of a passkey that is registered here")
