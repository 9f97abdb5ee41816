"""New address of the caller's account: requested in a session, and proved by a mailed link."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from application.audit import record_own
from application.ports.database import Database, Mail
from application.ports.identity.accounts import AccountTransaction, EmailChange
from application.ports.identity.users import own_notice
from application.ports.runtime import Clock, Ids, LinkSecrets
from application.ports.shared_memory import Cache, Revocations, profile_key
from application.retry import retry_on_conflict
from domain.errors import RateLimited, TokenInvalid, ValidationError
from domain.identity.typed_codes import token_hash
from domain.identity.users import AccountEmail, AccountState, email_key
from domain.limits import LINKS_APART
from domain.scope import SYSTEM_TENANT_ID, Caller, Client, EveryTenant, event, grants_subject

LIFETIME = timedelta(hours=24)
DAY = timedelta(days=1)
CHANGES_A_DAY = 5
"""Daily maximum of address change mails per account, because they go to unproved addresses."""


class NewEmailForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: AccountEmail


@dataclass(frozen=True)
class EmailChangeRequests:
    database: Database[AccountTransaction]
    revocations: Revocations
    cache: Cache
    secrets: LinkSecrets
    clock: Clock
    ids: Ids

    @retry_on_conflict
    async def request(self, caller: Caller, form: NewEmailForm, client: Client, *, silent: bool = False) -> None:
        """Send a link to the new address and a notice to the old one; ``silent`` only validates the form.

        Raises ValidationError, and RateLimited after CHANGES_A_DAY. The answer does not depend on other accounts.
        """
        email, key = form.email.strip(), email_key(form.email)
        if key is None:
            raise ValidationError.on("email", "is not an e-mail address")
        if silent:
            return
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(caller.user_id)
            state = await tx.users.state(caller.user_id)
            if state is None:
                raise TokenInvalid
            if email == state.user.email:
                raise ValidationError.on("email", "is your address already")
            before = await tx.email_changes.of_user(caller.user_id)
            if before is not None and before.email == email and before.requested_at > now - LINKS_APART:
                # The service has already sent a mail, and the link in it remains valid.
                return
            # Security: check whether the address has an account only when sending the mail, and report this only to the
            # owner.
            mail = Mail(id=self.ids.new(), kind="email-change", recipient=email, at=now, language=client.language)
            await tx.email_changes.save(self._change(caller, email, key, mail, before))
            await tx.outbox.add(mail)
            await tx.outbox.add(own_notice(self.ids.new(), "email-change-requested", state.user, client, now))
            await record_own(tx, "email.change-requested", caller.user_id, caller.tenant_id, client, now)

    def _change(self, caller: Caller, email: str, key: str, mail: Mail, before: EmailChange | None) -> EmailChange:
        mailed = tuple(at for at in before.mailed_at if at > mail.at - DAY) if before else ()
        if len(mailed) >= CHANGES_A_DAY:
            wait = min(mailed) + DAY - mail.at
            message = f"At most {CHANGES_A_DAY} changes of the address can be asked for within a day."
            raise RateLimited(max(1, int(wait.total_seconds())), message)
        return EmailChange(
            user_id=caller.user_id,
            email=email,
            email_key=key,
            hash=token_hash(self.secrets.code(mail.id)),
            requested_at=mail.at,
            expires_at=mail.at + LIFETIME,
            mailed_at=(*mailed, mail.at),
        )

    async def finish(self, email: str, secret: str, client: Client) -> bool:
        """Set the account's new address, proved by the link; return False if the link is not of a change.

        Raises Conflict on ``email`` if another account has the address by now.
        """
        hashed = token_hash(secret)
        async with self.database.read_only(EveryTenant()) as read:
            change = await read.email_changes.by_hash(hashed, self.clock.now())
        if change is None or change.email_key != email_key(email):
            return False
        is_finished = await self._finish(change, client)
        # Drop the cached profile after the commit: before it, a reader could cache the old one again.
        await self.cache.drop([profile_key(change.user_id)])
        return is_finished

    @retry_on_conflict
    async def _finish(self, change: EmailChange, client: Client) -> bool:
        now, user_id = self.clock.now(), change.user_id
        subjects = (grants_subject(user_id),)
        async with self.revocations.publishing(subjects) as published, self.database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(user_id)
            state = await tx.users.state(user_id)
            # The link may have been replaced or ended before the lock.
            found = await tx.email_changes.by_hash(change.hash, now)
            if found is None or state is None or not state.user.is_active:
                return False
            await self._save(tx, state, found, client, now)
            # Tokens contain the address, so they become stale; sessions continue.
            published.update(await tx.token_versions.bump(subjects))
        return True

    async def _save(
        self, tx: AccountTransaction, state: AccountState, change: EmailChange, client: Client, now: datetime
    ) -> None:
        user, linked = state.user, await tx.social.of_user(state.user.id)
        await tx.email_changes.end(user.id)
        changed = replace(
            user,
            email=change.email,
            email_key=change.email_key,
            email_confirmed=True,
            email_proved=True,
            email_proved_at=now,
            updated_at=now,
        )
        await tx.users.save(changed, user)
        await tx.outbox.add(own_notice(self.ids.new(), "email-changed", user, client, now))
        if linked and not await tx.social.of_user(user.id):
            await tx.outbox.add(own_notice(self.ids.new(), "identities-unlinked", changed, client, now))
        # Each tenant must learn of the new address.
        tenants = {held.tenant_id for held in state.memberships} or {SYSTEM_TENANT_ID}
        await tx.audit.add_to_each(tenants, event("email.changed", user.id, user.id, client, now))
