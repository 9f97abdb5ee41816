"""The account state's JSON: its keys are the names of the structs' fields, which the statement writes out."""

from typing import Any

import msgspec
import pytest
from msgspec import Struct

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.identity.account_states import ACCOUNT_STATE
from domain.identity.tokens import Session
from domain.identity.users import AccountState, Membership, Role, User
from domain.scope import EveryTenant
from tests.builders import NOW, role, session, tenant, user
from tests.contracts.identity.logins import begin

Json = dict[str, Any]


@pytest.fixture
async def account(postgres: PostgresDatabase) -> tuple[Json, Json]:
    """State and session, as the server writes them, of a user with a membership and roles of both kinds."""
    ada, here = user(), tenant()
    member, system, own = role(here.id), role(None), session(ada.id)
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.tenants.add(here)
        for granted in (member, system):
            await tx.roles.add(granted)
        await tx.memberships.save(ada.id, here.id, [member.id], None, NOW)
        await tx.memberships.set_system_roles(ada.id, [system.id])
        assert await begin(tx, own)
        row = await tx.connection.fetchrow(ACCOUNT_STATE, None, None, own.id)
    assert row is not None
    return msgspec.json.decode(row["state"]), msgspec.json.decode(row["session"])


def names(struct: type[Struct]) -> set[str]:
    return set(struct.__struct_encode_fields__)


async def test_the_keys_are_the_fields(account: tuple[Json, Json]) -> None:
    state, kept = account
    (membership,) = state["memberships"]
    (held,) = membership["roles"]
    (granted,) = state["roles"]
    assert state.keys() == names(AccountState)
    assert state["user"].keys() == names(User)
    assert membership.keys() == names(Membership)
    assert held.keys() == granted.keys() == names(Role)
    assert kept.keys() == names(Session)


async def test_the_three_ways_of_asking_give_the_same_state(postgres: PostgresDatabase) -> None:
    ada = user()
    own = session(ada.id)
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        assert await begin(tx, own)
        by_id = await tx.users.state(ada.id)
        assert by_id is not None
        assert await tx.users.state_by_email(ada.email_key) == by_id
        assert await tx.sessions.with_account_state(own.id) == (own, by_id)
