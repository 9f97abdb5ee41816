"""The caller's name, telephone and picture. Changes need no permission."""

from dataclasses import dataclass

from msgspec import UNSET, Struct, UnsetType

from application.audit import record_own
from application.identity.administration.user_forms import UserForm, changed_account
from application.ports.database import Database
from application.ports.identity.users import IdentityTransaction
from application.ports.runtime import Clock
from application.ports.shared_memory import Cache, profile_key
from application.retry import retry_on_conflict
from domain.errors import TokenInvalid
from domain.identity.users import FullName, PhoneNumber
from domain.scope import Caller, Client, EveryTenant


class OwnAccountForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a change; omitted fields stay. A mailed link changes the address; administrators change roles."""

    full_name: FullName | UnsetType = UNSET
    phone_number: PhoneNumber | None | UnsetType = UNSET
    profile_picture_url: str | None | UnsetType = UNSET


@dataclass(frozen=True)
class OwnProfile:
    database: Database[IdentityTransaction]
    cache: Cache
    clock: Clock

    @retry_on_conflict
    async def change(self, caller: Caller, form: OwnAccountForm, client: Client) -> None:
        """Change the profile. Raises ValidationError with every invalid field; TokenInvalid for a deleted account."""
        wanted = UserForm(
            full_name=form.full_name,
            phone_number=form.phone_number,
            profile_picture_url=form.profile_picture_url,
        )
        now = self.clock.now()
        async with self.database.transaction(EveryTenant()) as tx:
            state = await tx.users.state(caller.user_id)
            if state is None:
                raise TokenInvalid
            changed = changed_account(state.user, wanted, now)
            if changed is None:
                return
            await tx.users.save(changed, state.user)
            await record_own(tx, "user.changed", caller.user_id, caller.tenant_id, client, now)
        # Drop the cached profile after the commit: before it, a reader could cache the old one again.
        await self.cache.drop([profile_key(caller.user_id)])
