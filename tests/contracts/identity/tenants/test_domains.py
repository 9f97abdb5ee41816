"""Domains of tenants and requests to join: one tenant proves a domain, and whoever left does not come back."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.joserfc.link_secrets import DerivedLinkSecrets
from adapters.memory.clock import MovableClock
from adapters.memory.dns import MemoryDnsRecords
from adapters.system import SystemClock, Uuid7Ids
from application.identity.joining.domain_checks import HELD, NOBODY, DomainChecks
from application.identity.joining.domains import DomainAdministration, DomainForm
from application.ports.identity.domains import ListedDomain, ListedJoinRequest
from application.ports.whole_database import WholeDatabase
from domain.errors import Conflict, ServiceUnavailable
from domain.identity.domains import JoinRequest, TenantDomain
from domain.identity.users import Tenant
from domain.scope import EveryTenant
from tests.builders import NOW, caller, new_id, role, tenant, user

LATER = NOW + timedelta(hours=1)


@pytest.fixture
async def homes(database: WholeDatabase) -> tuple[Tenant, Tenant]:
    homes = (tenant(), tenant())
    async with database.transaction(EveryTenant()) as tx:
        for home in homes:
            await tx.tenants.add(home)
    return homes


def domain_of(home: Tenant, name: str = "acme.example", **given: Any) -> TenantDomain:
    values = {"tenant_id": home.id, "domain": name, "mode": "join", "role_ids": (), "proof": str(home.id)}
    return TenantDomain(**{**values, "set_by": None, "created_at": NOW, "checked_at": NOW, **given})


async def test_domains_are_listed_by_name_with_the_roles_that_exist(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    home, other = homes
    kept, gone, foreign = role(home.id, name="B"), role(home.id), role(other.id)
    everywhere = role(None, name="A")
    roles = (kept, gone, foreign, everywhere)
    first, second = (
        domain_of(home, "z.example", role_ids=tuple(made.id for made in roles)),
        domain_of(home, "b.example"),
    )
    async with database.transaction(EveryTenant()) as tx:
        for made in roles:
            await tx.roles.add(made)
        for added in (first, second, domain_of(other)):
            await tx.domains.save(added)
        await tx.roles.remove(gone.id)
        assert await tx.domains.all(home.id) == [ListedDomain(second, ()), ListedDomain(first, ("A", "B"))]
        assert await tx.domains.lock(home.id, "z.example") == first
        assert await tx.domains.lock(home.id, "acme.example") is None


async def test_concurrently_added_domains_are_counted_one_after_the_other(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    home, other = homes

    async def add(number: int) -> int:
        async with database.transaction(EveryTenant()) as tx:
            name = f"d{number}.example"
            before = await tx.domains.usage(home.id, name)
            await tx.domains.save(domain_of(home, name))
        return before.count

    assert sorted(await asyncio.gather(*(add(number) for number in range(12)))) == list(range(12))
    async with database.transaction(EveryTenant()) as tx:
        counts = [(await tx.domains.usage(each.id, "acme.example")).count for each in (home, other)]
        assert counts == [12, 0]


async def test_a_domain_added_twice_at_once_is_one_with_one_record(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    home, _ = homes
    adding = DomainAdministration(database, MemoryDnsRecords(), DerivedLinkSecrets("k" * 32), SystemClock(), Uuid7Ids())
    whom, form = caller(tenant_id=home.id, permissions=("*",)), DomainForm(domain="acme.example", roles=[])
    answers = await asyncio.gather(*(adding.save(whom, form, NOBODY) for _ in range(4)))
    assert sorted(is_new for _, is_new in answers) == [False, False, False, True]
    assert len({item.record.value for item, _ in answers}) == 1


async def test_a_changed_domain_retains_its_creation_time(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    home, _ = homes
    changed = domain_of(home, mode="off", state="lost", proof="new", set_by=new_id(), checked_at=LATER)
    async with database.transaction(EveryTenant()) as tx:
        await tx.domains.save(domain_of(home))
        await tx.domains.save(replace(changed, created_at=LATER))
        assert await tx.domains.lock(home.id, "acme.example") == changed
        assert await tx.domains.remove(home.id, "acme.example")
        assert not await tx.domains.remove(home.id, "acme.example")


@pytest.mark.promise(
    "tenants, domains and requests to join: of two tenants that race for a domain one gets it, and the other does not "
    "learn who"
)
async def test_of_tenants_that_prove_a_domain_one_has_it(database: WholeDatabase, homes: tuple[Tenant, Tenant]) -> None:
    home, other = homes
    async with database.transaction(EveryTenant()) as tx:
        for owner in homes:
            await tx.domains.save(domain_of(owner))
        assert not (await tx.domains.usage(home.id, "acme.example")).is_taken

    async def prove(owner: Tenant) -> bool:
        try:
            async with database.transaction(EveryTenant()) as tx:
                await tx.domains.save(domain_of(owner, state="verified"))
        except Conflict:
            return False
        return True

    assert sorted(await asyncio.gather(prove(home), prove(other))) == [False, True]
    async with database.transaction(EveryTenant()) as tx:
        found = await tx.domains.verified("acme.example")
        assert found is not None
        loser = other if found.tenant_id == home.id else home
        assert (await tx.domains.usage(loser.id, "acme.example")).is_taken
        assert not (await tx.domains.usage(found.tenant_id, "acme.example")).is_taken
        # A domain that its tenant has lost is free again.
        await tx.domains.save(replace(found, state="lost", mode="off"))
        await tx.domains.save(domain_of(loser, state="verified"))


async def test_users_join_only_active_tenants_by_verified_domains(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    home, other = homes
    async with database.transaction(EveryTenant()) as tx:
        await tx.domains.save(domain_of(home, "joins.example", state="verified"))
        await tx.domains.save(domain_of(home, "asks.example", state="verified", mode="request"))
        await tx.domains.save(domain_of(home, "off.example", state="verified", mode="off"))
        await tx.domains.save(domain_of(home, "waits.example"))
        await tx.domains.save(domain_of(other, "closed.example", state="verified"))
        await tx.tenants.save(replace(other, is_active=False))
        assert sorted(await tx.domains.joinable()) == ["asks.example", "joins.example"]
        assert (await tx.domains.verified("off.example")) is not None
        assert await tx.domains.verified("waits.example") is None
        assert await tx.domains.verified("closed.example") is None
        await tx.tenants.remove(home.id, NOW)
        assert await tx.domains.joinable() == []
        assert await tx.domains.verified("joins.example") is None


async def test_a_deleted_tenant_gives_its_domains_up(database: WholeDatabase, homes: tuple[Tenant, Tenant]) -> None:
    home, other = homes
    async with database.transaction(EveryTenant()) as tx:
        await tx.domains.save(domain_of(home, "acme.example", state="verified"))
        await tx.domains.save(domain_of(other, "other.example", state="verified"))
        assert (await tx.domains.usage(other.id, "acme.example")).is_taken
        assert await tx.tenants.lock_to_remove(home.id) is not None
        await tx.tenants.remove(home.id, NOW)
        assert await tx.domains.all(home.id) == []
        assert not (await tx.domains.usage(other.id, "acme.example")).is_taken
        await tx.domains.save(domain_of(other, "acme.example", state="verified"))
        assert [held.domain.domain for held in await tx.domains.all(other.id)] == ["acme.example", "other.example"]


@pytest.mark.promise(
    "tenants, domains and requests to join: a domain without its record takes nobody in after a day, and its tenant is "
    "told"
)
async def test_a_domain_that_is_due_is_taken_once(database: WholeDatabase, homes: tuple[Tenant, Tenant]) -> None:
    home, _ = homes
    async with database.transaction(EveryTenant()) as tx:
        for number in range(4):
            at = NOW + timedelta(minutes=number)
            await tx.domains.save(domain_of(home, f"d{number}.example", state="verified", checked_at=at))
        await tx.domains.save(domain_of(home, "waits.example"))

    async def take() -> list[str]:
        async with database.transaction(EveryTenant()) as tx:
            return [taken.domain for taken in await tx.domains.take_due(NOW + timedelta(minutes=2), LATER, 2)]

    taken = [name for names in await asyncio.gather(take(), take()) for name in names] + await take()
    assert sorted(taken) == ["d0.example", "d1.example", "d2.example"]
    assert await take() == []


@pytest.mark.promise(
    "tenants, domains and requests to join: logins at once make one membership and one request; of approving and "
    "declining at once one happens"
)
async def test_requests_wait_in_order_and_one_end_counts(database: WholeDatabase, homes: tuple[Tenant, Tenant]) -> None:
    home, other = homes
    people = [user() for _ in range(3)]
    requests = [
        JoinRequest(tenant_id=home.id, user_id=person.id, domain="acme.example", created_at=NOW - timedelta(number))
        for number, person in enumerate(people)
    ]
    async with database.transaction(EveryTenant()) as tx:
        for person in people:
            await tx.users.add(person)
        for request in requests:
            assert await tx.join_requests.add(request)
            assert not await tx.join_requests.add(replace(request, domain="other.example"))
        assert await tx.join_requests.add(replace(requests[0], tenant_id=other.id))
        listed, total = await tx.join_requests.page(home.id, 1, 2)
        expected = [ListedJoinRequest(requests[at], people[at].email, people[at].full_name) for at in (2, 1)]
        assert (listed, total) == (expected, 3)
        assert (await tx.join_requests.page(home.id, 2, 2))[0][0].request == requests[0]
        assert await tx.join_requests.lock(home.id, people[0].id) == requests[0]
        assert await tx.join_requests.lock(home.id, new_id()) is None

    async def end() -> bool:
        async with database.transaction(EveryTenant()) as tx:
            return await tx.join_requests.end(home.id, people[0].id, "declined", LATER, people[1].id)

    assert sorted(await asyncio.gather(*(end() for _ in range(6)))) == [False] * 5 + [True]
    async with database.transaction(EveryTenant()) as tx:
        ended = replace(requests[0], status="declined", ended_at=LATER, ended_by=people[1].id)
        assert await tx.join_requests.lock(home.id, people[0].id) == ended
        # What was decided stays decided, and the account takes its requests along.
        assert not await tx.join_requests.add(requests[0])
        assert (await tx.join_requests.page(home.id, 1, 9))[1] == 2
        await tx.users.remove(people[1].id)
        assert (await tx.join_requests.page(home.id, 1, 9))[1] == 1


async def test_roles_of_approvals_are_those_of_ids_and_of_a_name(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    home, other = homes
    own, named, more = role(home.id, name="Editor"), role(home.id, name="Member"), role(home.id)
    system, foreign = role(None, name="Member 2"), role(other.id, name="Member")
    async with database.transaction(EveryTenant()) as tx:
        for each in (own, named, more, system, foreign):
            await tx.roles.add(each)
    async with database.read_only(EveryTenant()) as read:
        asked = [system.id, own.id, foreign.id, new_id()]
        assert await read.join_requests.roles(home.id, asked, "Member") == [own, named, system]
        assert await read.join_requests.roles(home.id, [], "nobody's") == []


class InterruptedDns(MemoryDnsRecords):
    """Ends the first look-up, as the end of the process or of the database would."""

    async def texts(self, name: str) -> Sequence[str]:
        if not self.is_away:
            self.is_away = True
            raise ServiceUnavailable
        return ()


async def test_a_check_that_is_interrupted_is_done_again_soon(
    database: WholeDatabase, homes: tuple[Tenant, Tenant]
) -> None:
    home, _ = homes
    clock = MovableClock()
    async with database.transaction(EveryTenant()) as tx:
        for number in range(3):
            old = clock.now() - timedelta(days=30 - number)
            await tx.domains.save(domain_of(home, f"{home.id}-{number}.example", state="verified", checked_at=old))
    checks = DomainChecks(database, InterruptedDns(), clock, Uuid7Ids())
    with pytest.raises(ServiceUnavailable):
        await checks.check()
    clock.move(HELD)
    while await checks.check():
        pass
    async with database.read_only(EveryTenant()) as read:
        assert [listed.domain.state for listed in await read.domains.all(home.id)] == ["lost"] * 3
