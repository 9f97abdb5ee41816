"""docs/self-service.md: its commands run one after the other, as they stand there."""

from uuid import UUID

from adapters.http.identity.self_service.own_account import CHANGE_EMAIL, PERSONAL_EXPORT
from application.identity.self_service.email_changes import CHANGES_A_DAY
from application.ports.identity.personal_data import EVENTS
from domain.scope import EveryTenant
from tests.http.docs.curl_examples import DOCS, commands, request_of
from tests.http.identity.joining.invited import open_invited
from tests.mails import link_in, said_by

PAGE = "self-service.md"


async def test_the_commands_work_in_their_order() -> None:
    async with open_invited() as invited:
        app = invited.tenants.app
        await invited.person("bob", "bob@example.com")
        variables = {"URL": "", "TOKEN": ""}
        answered = []
        for command in commands(PAGE):
            if "/api/auth/identities" in command and "-X" not in command:
                async with invited.database.transaction(EveryTenant()) as tx:
                    await tx.social.link("google", "1", UUID(invited.tenants.users["bob"]), invited.clock.now())
            sent = request_of(command, variables | {"BOB": app.tokens["bob"]})
            answer = await app.call(sent.method, sent.path, headers=sent.headers, json=sent.body)
            assert answer.is_success, f"{command}: {answer.text}"
            answered.append(answer.json())
            for mail in await invited.mails():
                if mail.to == "bob@new.example" and "#" in mail.text:
                    variables["TOKEN"] = said_by(link_in(mail))["token"]
            if "confirm-email" in command:
                await app.login("bob", "bob@new.example")
        assert len(answered) == 6


def test_the_page_names_the_limits_that_hold() -> None:
    text = (DOCS / PAGE).read_text()
    assert f"{EVENTS:,}" in text
    assert (CHANGE_EMAIL.count, CHANGES_A_DAY, PERSONAL_EXPORT.count) == (3, 5, 3)
    assert "Three requests a minute, five mails a day." in text
