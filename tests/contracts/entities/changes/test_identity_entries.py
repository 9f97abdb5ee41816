"""Entries for members, roles and tenants: written with the audit trail, in the form of the lists, without secrets."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from application.identity.administration.roles import RoleItem
from application.identity.administration.user_forms import UserItem, item_fields
from application.ports.database import Means
from application.ports.entities.changes import LogEntry
from application.ports.identity.users import Listing
from domain.entities.changes.feeds import IDENTITY_ENTITIES
from domain.entities.changes.identity_events import identity_events
from domain.identity.users import Branding, Role, Tenant, TenantSecurity, TenantSettings, User
from domain.parts.composition import AUDIT_ACTIONS
from domain.scope import Client, EveryTenant, event
from tests.builders import NOW, new_id, role, tenant, user
from tests.contracts.entities.changes.conftest import Desk, data_of

ACTOR = new_id()


async def opened(desk: Desk) -> tuple[Tenant, User, Role]:
    settings = TenantSettings(
        security=TenantSecurity(), branding=Branding(name="Acme"), custom_settings={"key": "secret"}
    )
    home = tenant(id=desk.tenant.id, identifier=f"t{desk.tenant.id.hex}", domain=f"{desk.tenant.id}.example")
    home, someone, clerk = replace(home, settings=settings), user(), role(home.id, permissions=("read:labels",))
    async with desk.database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(home)
        await tx.users.add(someone)
        await tx.roles.add(clerk)
        await tx.memberships.save(someone.id, home.id, [clerk.id], None, NOW)
    return home, someone, clerk


async def note(desk: Desk, action: str, target: UUID, events: Means = None) -> list[LogEntry]:
    """The entries of a recorded action."""
    line = event(action, ACTOR, target, Client(address="", network=""), NOW + timedelta(seconds=1))
    async with desk.database.transaction(EveryTenant()) as tx:
        await tx.audit.add(desk.tenant.id, line, events)
    return await entries(desk)


async def entries(desk: Desk) -> list[LogEntry]:
    await desk.sequence()
    async with desk.database.read_only(desk.tenant) as read:
        head = (await read.changes.heads()).own
        found = await read.changes.after("own", desk.seen, head, 1_000, IDENTITY_ENTITIES)
    desk.seen = head
    return list(found.entries)


def encoded(item: msgspec.Struct) -> Any:
    return msgspec.json.decode(msgspec.json.encode(item))


async def test_entries_of_members_have_the_form_of_the_list(desk: Desk) -> None:
    home, someone, clerk = await opened(desk)
    async with desk.database.read_only(EveryTenant()) as read:
        listing = Listing(tenant_id=home.id, page=1, page_size=10)
        ((listed,), _) = await read.users.page(listing)
    (entry,) = await note(desk, "user.roles-changed", someone.id)
    assert data_of(entry) == encoded(UserItem(**item_fields(listed.user, listed.roles)))
    assert data_of(entry)["roles"] == [clerk.name]
    assert (entry.entity, entry.row_id, entry.version, entry.action, entry.by) == (
        "members",
        someone.id,
        0,
        "changed",
        ACTOR,
    )
    joined, accepted = await note(desk, "membership.changed", someone.id, ("member.joined", "invitation.accepted"))
    assert (joined.action, accepted.action, accepted.position) == ("joined", "accepted", joined.position + 1)
    (left,) = await note(desk, "membership.ended", someone.id)
    assert (left.action, left.data) == ("left", None)
    assert await note(desk, "user.roles-changed", new_id()) == []


async def test_entries_of_roles_and_tenants_have_the_form_of_the_list_without_secrets(desk: Desk) -> None:
    home, _, clerk = await opened(desk)
    (entry,) = await note(desk, "role.changed", clerk.id)
    item = RoleItem(
        id=clerk.id, name=clerk.name, description=clerk.description, permissions=clerk.permissions, is_system=False
    )
    assert (entry.row_id, data_of(entry)) == (clerk.id, encoded(item))
    (entry,) = await note(desk, "settings.changed:language", home.id)
    shown, listed = data_of(entry), encoded(home)
    for secret in ("security", "customSettings"):
        assert listed["settings"].pop(secret) is not None
        assert secret not in shown["settings"]
    assert listed["settings"].items() >= shown["settings"].items()
    assert shown["settings"]["branding"]["name"] == "Acme"
    assert {**shown, "settings": None} == {**listed, "settings": None}
    assert (await note(desk, "tenant.changed", home.id))[0].row_id == home.id


async def test_a_changed_account_is_a_changed_member_of_each_of_its_tenants(desk: Desk) -> None:
    _, someone, _ = await opened(desk)
    other = Desk(desk.database)
    await opened(other)
    async with desk.database.transaction(EveryTenant()) as tx:
        await tx.memberships.save(someone.id, other.tenant.id, [], None, NOW)
    (entry,) = await note(desk, "user.changed", someone.id, ("user.disabled",))
    assert entry.action == "disabled"
    (elsewhere,) = await entries(other)
    assert (elsewhere.row_id, elsewhere.action, data_of(elsewhere)["roles"]) == (someone.id, "disabled", [])


WITHOUT_EVENT = {
    # No role, no tenant and no member changes.
    "user.unlocked", "user.sessions-ended", "tenant.switched", "account.claimed",
    "email.change-requested", "email.confirmed",
    "invitation.sent", "invitation.resent", "invitation.revoked", "invitation.declined",
    # The list of members does not show ownership, and a new or deleted tenant has no readers.
    "owner.changed", "owner.transferred", "tenant.created", "tenant.deleted", "role.created", "role.deleted",
}  # fmt: skip


def test_every_audited_action_on_members_has_an_event_or_needs_none() -> None:
    subjects = ("user.", "membership.", "role.", "tenant.", "owner.", "account.", "email.", "settings.", "invitation.")
    without = {action for action in AUDIT_ACTIONS if action.startswith(subjects) and not identity_events(action)}
    assert without == WITHOUT_EVENT


@pytest.mark.parametrize("action", ["login.failed", "role.created", "owner.changed"])
def test_other_actions_have_no_event(action: str) -> None:
    assert identity_events(action) == []
