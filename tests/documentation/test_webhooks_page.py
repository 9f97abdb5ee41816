"""The functions of docs/webhooks.md accept what the service signs, and nothing else."""

import json
import re
import runpy
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.outgoing.signing import StandardSigner
from domain.entities.webhooks.signatures import signed_text
from tests.documentation.documents import DOCS, copied

ESBUILD = DOCS.parent / "adapters/console/source/node_modules/.bin/esbuild"
IsValid = Callable[[str, dict[str, str], bytes], bool]
SIGNER = StandardSigner()
SECRET = SIGNER.new_secret()
BODY = '{"type":"orders.changed","data":{"name":"Grüße"}}'.encode()


def python(folder: Path) -> IsValid:
    function: IsValid = runpy.run_path(copied("webhooks.md", "webhook.py", folder))["is_valid"]
    return function


def typescript(folder: Path) -> IsValid:
    if shutil.which("node") is None or not ESBUILD.exists():
        pytest.skip("needs Node, and `npm ci` in adapters/console/source")
    blocks = re.findall(r"```typescript\n(.*?)```", (DOCS / "webhooks.md").read_text(), re.DOTALL)
    (folder / "webhook.ts").write_text(next(block for block in blocks if block.startswith("// webhook.ts\n")))
    given = "const [secret, headers, body] = JSON.parse(process.argv[2]);"
    asked = 'console.log(isValid(secret, headers, Buffer.from(body, "base64")));'
    (folder / "main.ts").write_text(f'import {{ isValid }} from "./webhook";\n{given}\n{asked}\n')
    built = folder / "main.mjs"
    bundle = ["--bundle", "--platform=node", "--format=esm", f"--outfile={built}"]
    subprocess.run([ESBUILD, str(folder / "main.ts"), *bundle], check=True, capture_output=True)

    def ask(secret: str, headers: dict[str, str], body: bytes) -> bool:
        given = json.dumps([secret, headers, b64encode(body).decode()])
        answer = subprocess.run(["node", str(built), given], check=True, capture_output=True, text=True)
        return answer.stdout.strip() == "true"

    return ask


@pytest.mark.promise("webhooks, signatures: the receivers of the documents verify signatures")
@pytest.mark.parametrize("language", [python, typescript])
def test_the_receivers_of_the_page_verify_signatures(language: Callable[[Path], IsValid], tmp_path: Path) -> None:
    is_valid, shown = language(tmp_path), SIGNER.shown("v1", SECRET)
    now = datetime.now(UTC)
    assert is_valid(shown, headers(now, SECRET), BODY)
    both = f"{headers(now, SIGNER.new_secret())['webhook-signature']} {headers(now, SECRET)['webhook-signature']}"
    assert is_valid(shown, {**headers(now, SECRET), "webhook-signature": both}, BODY)
    assert not is_valid(shown, headers(now, SECRET), BODY + b" ")
    assert not is_valid(shown, headers(now, SIGNER.new_secret()), BODY)
    assert not is_valid(shown, headers(now - timedelta(minutes=6), SECRET), BODY)
    assert not is_valid(shown, {**headers(now, SECRET), "webhook-id": "msg_other"}, BODY)


def headers(at: datetime, secret: bytes) -> dict[str, str]:
    signature = SIGNER.signature("v1", secret, signed_text("msg_1", at, BODY))
    return {"webhook-id": "msg_1", "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": signature}
