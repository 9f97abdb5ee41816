"""docs/api-keys.md: its commands run one after the other, as they stand there, and its expression finds keys."""

import re
import runpy
from pathlib import Path

from domain.identity.service_accounts import (
    ACCOUNTS_PER_TENANT,
    KEYS_PER_ACCOUNT,
    NETWORKS_PER_KEY,
    PERMISSIONS_PER_KEY,
    TOKENS,
    UNKNOWN_KEYS,
    compose_key,
)
from tests.documents import copied
from tests.http.docs.curl_examples import DOCS, commands, request_of
from tests.http.two_tenants import TwoTenants

PAGE = "api-keys.md"


async def test_the_commands_work_in_their_order(tenants: TwoTenants) -> None:
    app = tenants.app
    names = ("ACCOUNT", "KEY", "KEY_ID", "NEW_KEY_ID", "SECRET")
    variables = {"URL": "", "ADMIN": app.tokens["admin"], **dict.fromkeys(names, "unknown")}
    answered = 0
    ordered = sorted(commands(PAGE), key=lambda command: "-X " in command)  # what ends the key and its account is last
    for command in ordered:
        sent = request_of(command, variables)
        answer = await app.client.request(
            sent.method, sent.path, headers=sent.headers, json=sent.body, data=sent.form, auth=sent.auth
        )
        assert answer.is_success, f"{command}: {answer.text}"
        answered += 1
        data = answer.json().get("data") if sent.method == "POST" else None
        if data and sent.path == "/api/service-accounts":
            variables["ACCOUNT"] = data["id"]
        elif data and sent.path.endswith("/rotate"):
            variables |= {"NEW_KEY_ID": data["id"], "SECRET": data["key"]}
        elif data and variables["KEY"] == "unknown":
            variables |= {"KEY": data["key"], "KEY_ID": data["id"]}
    assert answered == 13
    refused = await app.client.get("/api/products", headers={"Authorization": f"Bearer {variables['KEY']}"})
    assert refused.status_code == 401


def test_the_expression_finds_keys_and_the_checksum_tells_them_from_noise(tmp_path: Path) -> None:
    (expression,) = re.findall(r"```regex\n(.*?)\n```", (DOCS / PAGE).read_text())
    key = compose_key("tnt", "7Q" * 16)
    found = re.findall(expression, f'curl -H "Authorization: Bearer {key}" # {key[:-1]}')
    assert found == [key]
    is_key = runpy.run_path(copied(PAGE, "scanned.py", tmp_path))["is_key"]
    assert is_key(key)
    assert not is_key(key[:-1] + ("0" if key[-1] != "0" else "1"))


def test_the_page_names_the_limits_that_hold() -> None:
    text = (DOCS / PAGE).read_text()
    for row in (
        f"| Service accounts of a tenant | {ACCOUNTS_PER_TENANT};",
        f"| Living keys of an account | {KEYS_PER_ACCOUNT},",
        f"| Permissions, networks of a key | {PERMISSIONS_PER_KEY} each",
        f"| Tokens of client credentials | {TOKENS.count} a minute",
        f"| Unknown keys | {UNKNOWN_KEYS.count} a minute",
    ):
        assert row in text
    assert NETWORKS_PER_KEY == PERMISSIONS_PER_KEY
