"""The functions of docs/webhooks.md accept what the service signs, and nothing else."""

import json
import os
import runpy
import shutil
import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from adapters.outgoing.signing import StandardSigner
from domain.entities.webhooks.signatures import signed_text
from tests.documentation.documents import compiled, copied
from tests.entrypoints.processes import free_port

IsValid = Callable[[str, dict[str, str], bytes], bool]
SIGNER = StandardSigner()
SECRET = SIGNER.new_secret()
TYPESCRIPT = """
import { readFileSync } from "node:fs";
import { isValid } from "./webhook";

const [secret, headers, body] = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(String(isValid(secret, headers, Buffer.from(body, "base64"))));
"""
PHP = """<?php
require __DIR__ . '/webhook.php';
[$secret, $headers, $body] = json_decode(file_get_contents('php://stdin'), true);
echo json_encode(isValid($secret, $headers, base64_decode($body)));
"""
BODY = '{"type":"orders.changed","data":{"name":"Grüße"}}'.encode()


def python(folder: Path) -> IsValid:
    function: IsValid = runpy.run_path(copied("webhooks.md", "webhook.py", folder))["is_valid"]
    return function


def typescript(folder: Path) -> IsValid:
    copied("webhooks.md", "webhook.ts", folder)
    return asked_by("node", compiled(TYPESCRIPT, folder))


def php(folder: Path) -> IsValid:
    if shutil.which("php") is None:
        pytest.skip("needs PHP")
    copied("webhooks.md", "webhook.php", folder)
    (folder / "main.php").write_text(PHP)
    return asked_by("php", str(folder / "main.php"))


def asked_by(*program: str) -> IsValid:
    """Ask a program that reads JSON from its input, with the body in base64, and writes ``true`` or ``false``."""

    def ask(secret: str, headers: dict[str, str], body: bytes) -> bool:
        given = json.dumps([secret, headers, b64encode(body).decode()])
        answer = subprocess.run(program, input=given, check=True, capture_output=True, text=True)
        assert answer.stdout in ("true", "false"), answer
        return answer.stdout == "true"

    return ask


@pytest.mark.promise("webhooks, signatures: the receivers of the documents verify signatures")
@pytest.mark.parametrize("language", [python, typescript, php])
def test_the_receivers_of_the_page_verify_signatures(language: Callable[[Path], IsValid], tmp_path: Path) -> None:
    is_valid, shown = language(tmp_path), SIGNER.shown("v1", SECRET)
    now = datetime.now(UTC)
    assert is_valid(shown, headers(now, SECRET), BODY)
    both = f"{headers(now, SIGNER.new_secret())['webhook-signature']} {headers(now, SECRET)['webhook-signature']}"
    assert is_valid(shown, {**headers(now, SECRET), "webhook-signature": both}, BODY)
    assert not is_valid(shown, headers(now, SECRET), BODY + b" ")
    assert not is_valid(shown, headers(now, SIGNER.new_secret()), BODY)
    assert not is_valid(shown, headers(now - timedelta(minutes=6), SECRET), BODY)
    for name, wrong in (
        ("webhook-id", "msg_other"),
        ("webhook-timestamp", ""),
        ("webhook-timestamp", "now"),
        ("webhook-timestamp", "9" * 5_000),
        ("webhook-signature", ""),
        ("webhook-signature", "v1,ü v1, v1a,"),
    ):
        assert not is_valid(shown, {**headers(now, SECRET), name: wrong}, BODY)
        assert not is_valid(shown, {each: text for each, text in headers(now, SECRET).items() if each != name}, BODY)


def test_the_receiver_of_the_page_accepts_signed_requests_only(tmp_path: Path) -> None:
    copied("webhooks.md", "webhook.py", tmp_path)
    receiver = Path(copied("webhooks.md", "receiver.py", tmp_path))
    port = free_port()
    receiver.write_text(receiver.read_text().replace("9000", str(port)))
    environment = {**os.environ, "SECRET": SIGNER.shown("v1", SECRET)}
    with subprocess.Popen([sys.executable, receiver], env=environment, stdout=subprocess.PIPE) as process:
        with httpx.Client(transport=httpx.HTTPTransport(retries=20)) as client:
            for signed_by, status, printed in ((SECRET, 204, BODY), (SIGNER.new_secret(), 400, b"refused")):
                signed = headers(datetime.now(UTC), signed_by)
                answer = client.post(f"http://127.0.0.1:{port}/", content=BODY, headers=signed)
                assert answer.status_code == status
                assert process.stdout is not None
                assert process.stdout.readline() == printed + b"\n"
        process.kill()


def headers(at: datetime, secret: bytes) -> dict[str, str]:
    signature = SIGNER.signature("v1", secret, signed_text("msg_1", at, BODY))
    return {"webhook-id": "msg_1", "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": signature}
