"""Webhooks for events of members, roles and the tenant."""

import pytest

from domain.errors import ValidationError
from domain.scope import EveryTenant, event
from tests.builders import NOW, user
from tests.contracts.entities.changes.webhooks.conftest import CLIENT, Hooks, body_of


@pytest.mark.promise("webhooks, deliveries: member.joined and the other events of members, roles and the tenant")
async def test_events_of_members_and_the_tenant_are_delivered_to_readers(hooks: Hooks) -> None:
    reader = await hooks.make("member.*", "tenant.changed", account=await hooks.account("read:users", "read:labels"))
    other = await hooks.make("member.joined", "tenant.changed", account=await hooks.account("read:labels"))
    tenant_id, someone = hooks.desk.tenant.id, user()
    async with hooks.desk.database.transaction(EveryTenant()) as tx:
        await tx.users.add(someone)
        await tx.memberships.save(someone.id, tenant_id, [], None, NOW)
        for action in ("user.created", "invitation.accepted"):
            await tx.audit.add(tenant_id, event(action, someone.id, someone.id, CLIENT, NOW))
        await tx.audit.add(tenant_id, event("tenant.changed", None, tenant_id, CLIENT, NOW))
    await hooks.deliver()
    assert sorted(each.event for each in await hooks.listed(reader)) == ["member.joined", "tenant.changed"]
    assert [each.event for each in await hooks.listed(other)] == ["tenant.changed"]
    bodies = [body_of(sent) for sent in hooks.sent]
    (joined,) = [body for body in bodies if body["type"] == "member.joined"]
    assert (joined["data"]["entity"], joined["data"]["action"], joined["data"]["version"]) == ("members", "joined", 0)
    assert joined["data"]["object"]["email"] == someone.email


@pytest.mark.parametrize("pattern", ["member.moved", "members.joined", "role.*.", "user.joined"])
async def test_unknown_events_of_members_are_refused(hooks: Hooks, pattern: str) -> None:
    with pytest.raises(ValidationError):
        await hooks.make(pattern)
