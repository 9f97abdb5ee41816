"""Marks on mailboxes of former members, so that they cannot return through a domain."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from application.ports.identity.users import AddressMark
from application.ports.runtime import AddressDigests
from domain.identity.users import AccountState, User, mailbox_key


@dataclass(frozen=True)
class Departures:
    """Digests of mailboxes, in addition to the marks on accounts, which end with the account."""

    addresses: AddressDigests

    def marks(self, user: User, tenants: Iterable[UUID], by: UUID) -> list[AddressMark]:
        # Security: an account with an unproved address may be another person's, and a mark would exclude the owner.
        if by == user.id and not user.email_proved:
            return []
        return [
            AddressMark(tenant_id, self.digests(user.email_key, tenant_id)[0]) for tenant_id in sorted(set(tenants))
        ]

    def marks_of_account(self, state: AccountState, left: Iterable[UUID], by: UUID) -> list[AddressMark]:
        return self.marks(state.user, (*left, *(held.tenant_id for held in state.memberships)), by)

    def digests(self, email_key: str, tenant_id: UUID) -> list[bytes]:
        return self.addresses.of(tenant_id, mailbox_key(email_key))
