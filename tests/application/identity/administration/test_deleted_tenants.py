"""A tenant that is deleted while somebody joins it: nothing is stored in it, and the answer is a documented one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from application.identity.administration.memberships import MemberForm
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import NewUserForm, RolesForm
from application.identity.joining.acceptance import AcceptForm
from application.identity.joining.join_requests import ApprovalForm
from application.identity.user_import.imported_rows import ImportedUser, Row
from application.identity.user_import.user_import import Outcome
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import Error, NotFound, TokenInvalid, ValidationError
from domain.identity.domains import JoinRequest
from domain.identity.logins import Login
from domain.identity.typed_codes import token_hash
from domain.identity.users import User
from domain.scope import Caller, EveryTenant, Scope
from entrypoints.cli.identity.user_import import user_import
from tests.application.identity.social.test_social_sign_in import open_service
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService
from tests.builders import NOW, caller, role, user
from tests.contracts.identity.tenants.test_domains import domain_of
from tests.contracts.identity.tenants.test_invitations import invitation, sent


@dataclass
class Deleting:
    """The part of a transaction that stores memberships; the tenant is deleted before the first one of it is stored."""

    tx: Any
    database: "DeletingDatabase"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tx.memberships, name)

    async def save(self, user_id: UUID, tenant_id: UUID, *values: Any) -> bool:
        if tenant_id == self.database.deleted:
            self.database.deleted = None
            await self.tx.tenants.remove(tenant_id, NOW)
        stored: bool = await self.tx.memberships.save(user_id, tenant_id, *values)
        return stored


@dataclass
class DeletingTransaction:
    tx: Any
    database: "DeletingDatabase"

    def __getattr__(self, name: str) -> Any:
        return Deleting(self.tx, self.database) if name == "memberships" else getattr(self.tx, name)


@dataclass
class DeletingDatabase:
    """The database, in which the tenant ``deleted`` is deleted in the moment before a membership of it is stored."""

    database: WholeDatabase
    deleted: UUID | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def transaction(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        return self._wrapped(self.database.transaction(scope))

    @asynccontextmanager
    async def _wrapped(self, opened: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        async with opened as tx:
            yield DeletingTransaction(tx, self)


@dataclass
class Going:
    """A tenant that is about to be deleted, its administrator, and Eve, who is not in it."""

    service: InMemoryService
    database: DeletingDatabase
    tenant_id: UUID
    root: Caller
    admin: Caller
    eve: User

    async def tenants_of(self, user_id: UUID) -> list[UUID]:
        async with self.database.database.read_only(EveryTenant()) as read:
            state = await read.users.state(user_id)
        return [] if state is None else [membership.tenant_id for membership in state.memberships]


@pytest.fixture
async def going(registry: Registry, database: WholeDatabase) -> Going:
    deleting: Any = DeletingDatabase(database)
    service = await open_service(registry, deleting, DEFAULT_TENANT="acme")
    root = await service.admin()
    tenant_id = (await service.services.tenants.create(root, NewTenantForm(name="Acme", identifier="acme"), HERE)).id
    eve, ada = user(email="eve@acme.example", email_proved=True), user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(eve)
        await tx.users.add(ada)
        await tx.memberships.save(ada.id, tenant_id, [], None, NOW)
        await tx.join_requests.add(
            JoinRequest(tenant_id=tenant_id, user_id=eve.id, domain="acme.example", created_at=NOW)
        )
    admin = caller(user_id=ada.id, tenant_id=tenant_id, permissions=("*",))
    deleting.deleted = tenant_id
    return Going(service, deleting, tenant_id, root, admin, eve)


def adding(going: Going) -> Awaitable[object]:
    form = MemberForm(user_id=going.eve.id, roles=[])
    return going.service.services.memberships.save(going.root, going.tenant_id, form, HERE)


def changing(going: Going) -> Awaitable[object]:
    form = MemberForm(user_id=going.admin.user_id, is_default=True)
    return going.service.services.memberships.save(going.admin, going.tenant_id, form, HERE)


def approving(going: Going) -> Awaitable[object]:
    return going.service.services.join_requests.approve(going.admin, going.eve.id, ApprovalForm(roles=[]), HERE)


def creating(going: Going) -> Awaitable[object]:
    form = NewUserForm(email=EMAIL, password=PASSWORD, full_name="New", roles=[])
    return going.service.services.users.create(going.admin, form, HERE)


def assigning(going: Going) -> Awaitable[object]:
    form = RolesForm(role_names=[])
    return going.service.services.users.assign_roles(going.admin, going.admin.user_id, form, HERE)


# For the last two the tenant is the caller's: their token is revoked with it.
REFUSALS = [(adding, NotFound), (changing, NotFound), (approving, NotFound), (creating, TokenInvalid)]


@pytest.mark.parametrize(("act", "refusal"), [*REFUSALS, (assigning, TokenInvalid)])
async def test_users_cannot_join_a_tenant_that_is_deleted_concurrently(
    going: Going, act: Callable[[Going], Awaitable[object]], refusal: type[Error]
) -> None:
    with pytest.raises(refusal):
        await act(going)
    assert await going.tenants_of(going.eve.id) == []
    async with going.database.database.read_only(EveryTenant()) as read:
        # All of the transaction is undone, the account that it would have made as well.
        assert await read.users.state_by_email(EMAIL) is None
        assert (await read.join_requests.page(going.tenant_id, 1, 20))[1] == 1


async def test_an_administrator_of_a_deleted_tenant_gets_not_found(going: Going) -> None:
    """And not that a member of it does not exist."""
    async with going.database.database.transaction(EveryTenant()) as tx:
        await tx.tenants.remove(going.tenant_id, NOW)
    with pytest.raises(NotFound):
        await changing(going)


async def test_no_membership_of_a_deleted_tenant_is_ended(going: Going) -> None:
    """Its path is as unknown as for every other method."""
    database = going.database.database
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.remove(going.tenant_id, NOW)
    with pytest.raises(NotFound):
        await going.service.services.memberships.remove(going.root, going.tenant_id, going.admin.user_id, HERE)
    async with database.read_only(EveryTenant()) as read:
        assert await read.former_members.tenants_of(going.admin.user_id) == []


async def test_who_registers_while_the_default_tenant_is_deleted_joins_no_tenant(going: Going) -> None:
    made = await going.service.register()
    async with going.database.database.read_only(EveryTenant()) as read:
        state = await read.users.state(made.id)
    assert state is not None
    assert state.memberships == ()


async def test_who_comes_by_the_address_while_the_tenant_is_deleted_logs_in_without_it(going: Going) -> None:
    database = going.database.database
    member = role(going.tenant_id)
    async with database.transaction(EveryTenant()) as tx:
        await tx.roles.add(member)
        await tx.join_requests.end(going.tenant_id, going.eve.id, "declined", NOW, None)
        acme = await tx.tenants.by_id(going.tenant_id)
        assert acme is not None
        await tx.domains.save(domain_of(acme, state="verified", role_ids=(member.id,)))
        state = await tx.users.state(going.eve.id)
    assert state is not None
    joined = await going.service.services.sign_in.joining.joined(Login(state=state, methods=()), HERE)
    assert going.database.deleted is None
    assert joined.state.memberships == ()


async def test_an_invitation_to_a_tenant_that_is_deleted_meanwhile_is_a_wrong_link(going: Going) -> None:
    token, root = "a" * 43, going.root.user_id
    async with going.database.database.transaction(EveryTenant()) as tx:
        acme = await tx.tenants.by_id(going.tenant_id)
        state = await tx.users.state(root)
        assert acme is not None
        assert state is not None
        invited = invitation(acme, state.user, going.eve.email, hash=token_hash(token))
        assert await tx.invitations.add([sent(invited)]) == 1
    eve = caller(user_id=going.eve.id)
    with pytest.raises(ValidationError) as refusal:
        await going.service.services.acceptance.accept(eve, AcceptForm(token=token), HERE)
    assert [error.field for error in refusal.value.fields] == ["token"]
    assert going.database.deleted is None
    assert await going.tenants_of(going.eve.id) == []


async def test_import_rows_are_planned_again_when_their_tenant_is_deleted(going: Going) -> None:
    """In this test the deletion is undone with the transaction, and so the rows are stored the second time."""
    rows = [
        Row(number, ImportedUser(email=f"u{number}@x.example", full_name="New", tenant="acme")) for number in (2, 3)
    ]
    results = await user_import(going.service.adapters).store(rows)
    assert going.database.deleted is None
    assert [(result.number, result.outcome) for result in results] == [(2, Outcome.MADE), (3, Outcome.MADE)]
