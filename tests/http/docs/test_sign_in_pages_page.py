"""docs/sign-in-pages.md: its commands run one after the other, as they stand there."""

import pytest

from adapters.http.request.rules import PUBLIC
from application.identity.hosted_login.login_codes import LIVES
from domain.identity.redirects import MOST_ADDRESSES
from tests.http.app import TestApp
from tests.http.docs.curl_examples import DOCS, commands, request_of
from tests.http.identity.hosted_login.handing_over import CHALLENGE, VERIFIER, Shop
from tests.http.served import served_by

PAGE = "sign-in-pages.md"


@pytest.mark.promise("sign-in pages, behaviour: the commands of the page work")
async def test_the_commands_work_in_their_order(app: TestApp) -> None:
    variables = {"URL": "", "ADMIN": app.tokens["root"], "CHALLENGE": CHALLENGE, "VERIFIER": VERIFIER, "CODE": "none"}
    register, exchange, make = (command for command in commands(PAGE))
    answered = []
    for command in (register, make, exchange):
        if command is make:
            variables["TOKEN"] = (await Shop(app).login())["token"]
        sent = request_of(command, variables)
        answer = await app.client.request(sent.method, sent.path, headers=sent.headers, json=sent.body)
        assert answer.is_success, f"{command}: {answer.text}"
        answered.append(answer.json()["data"])
        variables["CODE"] = answered[-1].get("code", "")
    assert answered[-1]["tokenType"] == "Tenant"


def test_the_page_names_the_limits_that_hold(app: TestApp) -> None:
    text = (DOCS / PAGE).read_text()
    assert f"| Lifetime | {LIVES.seconds} seconds |" in text
    assert f"application has {MOST_ADDRESSES} at most" in text
    policies = {served.operation: served.policy for served in served_by(app.services)}
    assert policies["auth.exchange-code"] == PUBLIC
    assert policies["auth.make-code"].recent
