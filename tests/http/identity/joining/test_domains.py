"""Domains of tenants: proved by a record, and what people with an address there get when they log in."""

from collections.abc import Sequence
from datetime import timedelta
from typing import cast
from uuid import UUID

import httpx
import pytest
from msgspec.structs import replace

from adapters.memory.dns import MemoryDnsRecords
from application.identity.joining.domain_joining import KNOWN_FOR, KnownDomains
from domain.identity.domains import DOMAINS
from domain.identity.logins import Login
from domain.scope import Client, EveryTenant
from tests.builders import NOW
from tests.http.app import ADMIN, PASSWORD, Json
from tests.http.identity.joining.invited import Invited, told
from tests.http.two_tenants import SYSTEM, email_of

PATH = "/api/tenants/current/domains"
DOMAIN = "people.example"


@pytest.mark.parametrize(
    ("since", "are_old"),
    [
        (timedelta(0), False),
        (KNOWN_FOR - timedelta.resolution, False),
        (KNOWN_FOR, True),
        (-timedelta.resolution, True),  # a clock that was put back
    ],
)
def test_domains_that_were_read_are_known_for_a_while(since: timedelta, are_old: bool) -> None:
    assert KnownDomains(read_at=NOW).are_old(NOW + since) is are_old
    assert KnownDomains().are_old(NOW)


def dns_of(invited: Invited) -> MemoryDnsRecords:
    return cast(MemoryDnsRecords, invited.tenants.app.adapters.dns)


async def save(
    invited: Invited, domain: str = DOMAIN, mode: str = "join", roles: Sequence[str] = ("Member",), whom: str = "admin"
) -> httpx.Response:
    body = {"domain": domain, "mode": mode, "roles": list(roles)}
    return await invited.tenants.call(whom, "POST", PATH, body)


async def verify(invited: Invited, domain: str = DOMAIN, whom: str = "admin") -> httpx.Response:
    return await invited.tenants.call(whom, "POST", f"{PATH}/{domain}/verify")


async def proved(
    invited: Invited, domain: str = DOMAIN, mode: str = "join", roles: Sequence[str] = ("Member",), whom: str = "admin"
) -> Json:
    """A domain that the tenant has proved; whoever logs in from now on is in reach of it."""
    answer = await save(invited, domain, mode, roles, whom)
    assert answer.status_code in (200, 201), answer.text
    record = answer.json()["data"]["record"]
    dns_of(invited).records[record["name"]] = [record["value"]]
    answer = await verify(invited, domain, whom)
    assert answer.status_code == 200, answer.text
    invited.clock.move(KNOWN_FOR)
    data: Json = answer.json()["data"]
    return data


async def somebody(invited: Invited, name: str = "ada", domain: str = DOMAIN, *, is_proved: bool = True) -> str:
    """An account in ``other`` with an address at the domain."""
    email = f"{name}@{domain}"
    await invited.person(name, email)
    if is_proved:
        await invited.prove(email)
    return email


async def login(invited: Invited, email: str) -> Json:
    body = {"email": email, "password": PASSWORD, "isPasswordEncrypted": False}
    answer = await invited.tenants.app.call("POST", "/api/auth/login", json=body)
    assert answer.status_code == 200, answer.text
    data: Json = answer.json()["data"]
    return data


@pytest.mark.promise("GET /api/tenants/current/domains")
@pytest.mark.promise("POST /api/tenants/current/domains")
@pytest.mark.promise("POST /api/tenants/current/domains/{domain}/verify")
@pytest.mark.promise("DELETE /api/tenants/current/domains/{domain}")
async def test_a_domain_is_added_proved_and_removed(invited: Invited) -> None:
    added = await save(invited, "People.Example", "request")
    data = added.json()["data"]
    assert (added.status_code, data["domain"], data["mode"], data["roles"]) == (201, DOMAIN, "request", ["Member"])
    assert (data["state"], data["record"]["name"], data["record"]["type"]) == ("pending", f"_tenantry.{DOMAIN}", "TXT")
    assert data["record"]["value"].startswith("tenantry-verification=")
    early = await verify(invited)
    assert told(early)[:2] == (409, "CONFLICT")
    assert f"_tenantry.{DOMAIN}" in early.json()["errorMessage"]
    dns_of(invited).records[data["record"]["name"]] = ["v=spf1 -all", data["record"]["value"]]
    assert (await verify(invited)).json()["data"] == {**data, "state": "verified"}
    assert (await invited.tenants.call("admin", "GET", PATH)).json()["data"] == [{**data, "state": "verified"}]
    changed = (await save(invited, mode="join", roles=["Clerk"])).json()["data"]
    assert changed == {**data, "state": "verified", "mode": "join", "roles": ["Clerk"]}
    assert (await invited.tenants.call("admin", "DELETE", f"{PATH}/{DOMAIN}")).status_code == 200
    assert (await invited.tenants.call("admin", "DELETE", f"{PATH}/{DOMAIN}")).status_code == 404
    assert (await verify(invited)).status_code == 404
    actions = [action for action in invited.actions() if action.startswith("domain.")]
    assert actions == [f"domain.{done}:{DOMAIN}" for done in ("added", "verified", "changed", "removed")]
    listed = await invited.tenants.call("admin", "GET", "/api/audit-events?action.startsWith=domain.")
    assert {item["action"] for item in listed.json()["data"]["items"]} == set(actions)


@pytest.mark.promise("POST /api/tenants/current/domains")
@pytest.mark.promise(
    "tenants, domains and requests to join: Public mail services, addresses and other texts are no domain of a "
    "company; the tenant system has none"
)
@pytest.mark.parametrize(
    "domain",
    ["", "people", "127.0.0.1", "http://people.example", "people.example:80", "people.example.", " people.example",
     "*.people.example", "_dmarc.people.example", "a@people.example", "gmail.com", "GoogleMail.com", "people..example",
     f"{'a' * 64}.example", "-a.example", "a-.example"],
)  # fmt: skip
async def test_a_text_that_is_not_a_company_domain_is_refused(invited: Invited, domain: str) -> None:
    assert told(await save(invited, domain)) == (400, "VALIDATION_ERROR", ["domain"])


@pytest.mark.promise(
    "tenants, domains and requests to join: neither a subdomain, nor a longer name, nor one that looks alike (IDN "
    "homographs) is the domain"
)
async def test_an_internationalised_domain_is_stored_in_its_dns_form(invited: Invited) -> None:
    data = (await save(invited, "Bücher.example")).json()["data"]
    assert (data["domain"], data["record"]["name"]) == ("xn--bcher-kva.example", "_tenantry.xn--bcher-kva.example")
    assert (await invited.tenants.call("admin", "DELETE", f"{PATH}/bücher.example")).status_code == 200


async def test_a_login_with_an_address_of_a_verified_domain_makes_a_member(invited: Invited) -> None:
    await proved(invited, roles=["Reader"])
    email = await somebody(invited)
    data = await login(invited, email)
    assert data["requiresTenantSelection"] is True
    assert {tenant["name"] for tenant in data["availableTenants"]} == {"Acme", "Other"}
    assert email in await invited.members()
    assert await invited.roles_of(email) == ["Reader"]
    assert invited.actions().count("membership.joined-by-domain") == 1
    await login(invited, email)
    assert invited.actions().count("membership.joined-by-domain") == 1


async def test_a_membership_by_domain_counts_in_the_login_that_makes_it(invited: Invited) -> None:
    """The tenant may be entered at once, and by nobody else."""
    await proved(invited)
    email = await somebody(invited)
    await invited.tenants.app.login("ada", email, invited.tenants.tenants["acme"])
    me = (await invited.tenants.call("ada", "GET", "/api/auth/me")).json()["data"]
    assert me["roles"] == ["Member"]


@pytest.mark.promise("GET /api/join-requests")
@pytest.mark.promise("POST /api/join-requests/{user_id}/approve")
async def test_a_join_request_is_created_notified_and_approved(invited: Invited) -> None:
    await proved(invited, mode="request", roles=["Reader"])
    email = await somebody(invited)
    await login(invited, email)
    assert email not in await invited.members()
    (mail,) = await invited.mails()
    assert (mail.to, mail.subject.partition(": ")[2]) == (email_of("admin"), "Somebody asks to join")
    await login(invited, email)
    assert [mail.to for mail in await invited.mails()] == []
    listed = (await invited.tenants.call("host", "GET", "/api/join-requests")).json()["data"]
    (item,) = listed["items"]
    assert (item["email"], item["domain"], listed["totalCount"], listed["totalPages"]) == (email, DOMAIN, 1, 1)
    assert (item["roles"], item["may"]) == (["Reader"], {"approve": True})
    approved = await invited.tenants.call("admin", "POST", f"/api/join-requests/{item['id']}/approve", {})
    data = approved.json()["data"]
    assert (data["userId"], data["roles"]) == (item["id"], ["Reader"])
    assert email in await invited.members()
    again = await invited.tenants.call("admin", "POST", f"/api/join-requests/{item['id']}/approve", {})
    assert again.status_code == 404
    assert [action for action in invited.actions() if action.startswith("join-request.")] == [
        "join-request.made",
        "join-request.approved",
    ]


@pytest.mark.promise("DELETE /api/join-requests/{user_id}")
async def test_a_request_is_declined_and_not_made_again(invited: Invited) -> None:
    await proved(invited, mode="request")
    email = await somebody(invited)
    await login(invited, email)
    path = f"/api/join-requests/{invited.tenants.users['ada']}"
    counted: list[tuple[str, int]] = []
    counts = invited.tenants.app.services.invitation_counts
    counts.listeners.append(lambda outcome, many: counted.append((outcome, many)))
    assert (await invited.tenants.call("host", "DELETE", path)).status_code == 200
    counts.listeners.pop()
    assert counted == [("refused", 1)]
    assert (await invited.tenants.call("host", "DELETE", path)).status_code == 404
    await login(invited, email)
    listed = (await invited.tenants.call("host", "GET", "/api/join-requests")).json()["data"]
    assert (listed["items"], listed["totalCount"]) == ([], 0)
    assert email not in await invited.members()
    assert invited.actions().count("join-request.declined") == 1


async def test_a_profile_that_is_remembered_shows_the_tenant_after_the_approval(invited: Invited) -> None:
    await proved(invited, mode="request")
    email = await somebody(invited)

    async def profile() -> str:
        await invited.tenants.app.login("ada", email)
        return (await invited.tenants.call("ada", "GET", "/api/auth/me/complete")).text

    assert "Acme" not in await profile()
    path = f"/api/join-requests/{invited.tenants.users['ada']}/approve"
    assert (await invited.tenants.call("admin", "POST", path, {})).status_code == 200
    assert "Acme" in await profile()


@pytest.mark.promise("POST /api/join-requests/{user_id}/approve")
async def test_an_approval_gives_the_roles_it_names(invited: Invited) -> None:
    await proved(invited, mode="request")
    email = await somebody(invited)
    await login(invited, email)
    path = f"/api/join-requests/{invited.tenants.users['ada']}/approve"
    unknown = await invited.tenants.call("admin", "POST", path, {"roles": ["Foreign"]})
    assert told(unknown) == (400, "VALIDATION_ERROR", ["roles"])
    assert (await invited.tenants.call("admin", "POST", path, {"roles": ["Clerk", "Reader"]})).status_code == 200
    assert await invited.roles_of(email) == ["Clerk", "Reader"]


@pytest.mark.promise(
    "tenants, domains and requests to join: a domain without its record takes nobody in after a day, and its tenant is "
    "told"
)
async def test_a_domain_without_its_record_is_lost_after_a_day_and_notified(invited: Invited) -> None:
    email, checks = await somebody(invited), invited.tenants.app.services.domain_checks
    data = await proved(invited)
    assert await checks.check() == 0
    dns_of(invited).records.clear()
    invited.clock.move(timedelta(days=1))
    assert await checks.check() == 1
    assert await checks.check() == 0
    await invited.tenants.log_in("admin", "acme")
    (listed,) = (await invited.tenants.call("admin", "GET", PATH)).json()["data"]
    assert (listed["state"], listed["mode"]) == ("lost", "off")
    (mail,) = await invited.mails()
    assert (mail.to, mail.subject.partition(": ")[2]) == (email_of("admin"), "A domain is not proved any more")
    assert "people. example" in " ".join(mail.text.split())
    assert invited.actions().count(f"domain.lost:{DOMAIN}") == 1
    await login(invited, email)
    await invited.tenants.app.login("root", ADMIN, SYSTEM)  # a day later
    assert email not in await invited.members()
    # The same record proves it again; what it gives is to be set again.
    dns_of(invited).records[data["record"]["name"]] = [data["record"]["value"]]
    assert (await verify(invited)).json()["data"]["mode"] == "off"


@pytest.mark.promise("POST /api/tenants/current/domains/{domain}/verify")
@pytest.mark.promise(
    "tenants, domains and requests to join: no search list completes the name; an outage is no absence, and loses "
    "nothing"
)
async def test_an_outage_of_the_dns_loses_nothing(invited: Invited) -> None:
    await proved(invited)
    dns_of(invited).is_away = True
    invited.clock.move(timedelta(days=1))
    assert await invited.tenants.app.services.domain_checks.check() == 1
    await invited.tenants.log_in("admin", "acme")
    (listed,) = (await invited.tenants.call("admin", "GET", PATH)).json()["data"]
    assert listed["state"] == "verified"
    assert told(await verify(invited))[:2] == (503, "SERVICE_UNAVAILABLE")


async def test_adding_an_existing_domain_changes_it(invited: Invited) -> None:
    added = await save(invited)
    assert (added.status_code, added.headers["Location"]) == (201, PATH)
    changed = await save(invited, mode="request", roles=())
    assert (changed.status_code, "Location" in changed.headers) == (200, False)
    assert changed.json()["data"] == {**added.json()["data"], "mode": "request", "roles": []}


async def test_a_tenant_has_so_many_domains_and_no_more(invited: Invited) -> None:
    for number in range(DOMAINS):
        assert (await save(invited, f"d{number}.example")).status_code == 201
    assert told(await save(invited, "more.example"))[:2] == (409, "CONFLICT")
    assert (await save(invited, "d0.example", "off")).status_code == 200


@pytest.mark.promise(
    "tenants, domains and requests to join: who may neither invite nor set is refused; changes ask for a recent proof "
    "of a person"
)
async def test_changes_ask_for_a_recent_proof_of_a_person(invited: Invited) -> None:
    services, now = invited.tenants.app.services, invited.clock.now()
    claims = services.tokens.read(invited.tenants.app.tokens["admin"], now)
    invited.tenants.app.tokens["old"] = services.tokens.sign(replace(claims, auth_time=0), now)
    invited.tenants.app.tokens["machine"] = services.tokens.sign(replace(claims, kind="service"), now)
    assert told(await save(invited, whom="old"))[:2] == (401, "REAUTHENTICATION_REQUIRED")
    assert told(await verify(invited, whom="old"))[:2] == (401, "REAUTHENTICATION_REQUIRED")
    assert told(await save(invited, whom="machine"))[:2] == (403, "FORBIDDEN")
    assert (await invited.tenants.call("old", "GET", PATH)).status_code == 200


async def test_both_of_two_concurrent_first_logins_get_the_membership(invited: Invited) -> None:
    await proved(invited)
    email = await somebody(invited)
    async with invited.database.read_only(EveryTenant()) as read:
        seen = await read.users.state_by_email(email)
    assert seen is not None
    login = Login(state=seen, by_password=True, methods=("pwd",))
    joining = invited.tenants.app.services.sign_in.joining
    logins = [await joining.joined(login, Client(address="192.0.2.1", network="192.0.2.1")) for _ in range(2)]
    acme = UUID(invited.tenants.tenants["acme"])
    assert [joined.state.membership_in(acme) is not None for joined in logins] == [True, True]
