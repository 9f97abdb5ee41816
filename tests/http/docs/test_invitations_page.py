"""docs/invitations.md: its commands run one after the other, as they stand there."""

import re
from pathlib import Path

from adapters.http.identity.joining.domains import VERIFY_DOMAIN
from adapters.http.identity.joining.invitations import INVITE
from adapters.http.identity.joining.received import INVITATION_LINK
from adapters.memory.dns import MemoryDnsRecords
from application.identity.joining.domain_joining import KNOWN_FOR
from domain.identity.domains import DOMAINS
from domain.identity.invitations import BATCH, INVITATIONS_A_DAY, MAILS_A_DAY
from tests.http.app import Json
from tests.http.docs.curl_examples import DOCS, commands, request_of
from tests.http.identity.joining.invited import Invited, open_invited
from tests.http.two_tenants import email_of
from tests.mails import link_in, said_by

PAGE = "invitations.md"


async def test_the_commands_work_in_their_order() -> None:
    async with open_invited({"TENANTRY_SELF_SERVICE_TENANTS": "on"}) as invited:
        app = invited.tenants.app
        for name in ("bob", "cleo"):
            await invited.person(name, f"{name}@example.com")
        await invited.prove("cleo@example.com")
        pending = (await invited.invite("dora@example.com")).json()["data"]["id"]
        await invited.mails()
        variables = {
            "URL": "",
            "ADMIN": app.tokens["admin"],
            "BOB": app.tokens["bob"],
            "CLEO": app.tokens["cleo"],
            "TENANT": invited.tenants.tenants["acme"],
            "PENDING": pending,
            "ROOT": app.tokens["root"],
            "MEMBER": invited.tenants.users["clerk"],
        }
        # The administrator owns the tenant, and another one is there.
        await invited.tenants.make_user("second", "acme", ["Admin"])
        owner = f"/api/tenants/{variables['TENANT']}/users/{invited.tenants.users['admin']}"
        assert (await invited.tenants.call("root", "PUT", owner, {"isOwner": True})).status_code == 200
        await invited.mails()
        answered = []
        for command in commands(PAGE):
            sent = request_of(command, variables)
            answer = await app.call(sent.method, sent.path, headers=sent.headers, json=sent.body)
            assert answer.is_success, f"{command}: {answer.text}"
            answered.append(answer.json())
            if "/domains" in sent.path and sent.body:
                await publish(invited, answer.json()["data"]["record"])
            if sent.path.endswith("/verify"):
                variables["ASKING"] = await ask_to_join(invited, "eve@acme.example")
            for mail in await invited.mails():
                if "#token" not in mail.text:
                    continue
                variables[{"ada": "TOKEN", "bob": "BOBS_TOKEN"}.get(mail.to[:3], "_")] = said_by(link_in(mail))["token"]
            if sent.path == "/api/auth/invitations":
                variables["INVITATION"] = answer.json()["data"][0]["id"]
        assert len(answered) == 23
        assert {"ada@example.com", "cleo@example.com"} <= set(await invited.members())
        assert "eve@acme.example" in await invited.members()
        assert "bob@example.com" not in await invited.members()
        assert email_of("admin") not in await invited.members()


async def publish(invited: Invited, record: Json) -> None:
    dns = invited.tenants.app.adapters.dns
    assert isinstance(dns, MemoryDnsRecords)
    dns.records[record["name"]] = [record["value"]]


async def ask_to_join(invited: Invited, email: str) -> str:
    """Logs somebody in with a proved address; returns their id."""
    await invited.person("eve", email)
    await invited.prove(email)
    invited.clock.move(KNOWN_FOR)
    await invited.tenants.app.login("eve", email)
    return invited.tenants.users["eve"]


def test_the_page_names_the_limits_that_hold() -> None:
    text = Path(DOCS / PAGE).read_text()
    for count, unit in ((INVITE.count, "a minute"), (INVITATIONS_A_DAY, "a day"), (MAILS_A_DAY, "a day")):
        assert re.search(rf"\| {count} {unit}", text)
    assert f"| {INVITATION_LINK.count} a minute for each client address |" in text
    assert f"| {DOMAINS} |" in text
    assert f"| {VERIFY_DOMAIN.count} a minute for each user |" in text
    assert BATCH == 100
