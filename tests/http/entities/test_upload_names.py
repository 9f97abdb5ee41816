"""Names of uploaded files: the service takes nothing from them."""

import json
from pathlib import Path

import pytest

from tests.http.app import TestApp

BOUNDARY = "a-boundary"
NAMES = [
    "../../../../etc/cron.d/tenantry",
    "/tmp/tenantry-named-by-a-client",
    "..\\..\\windows.csv",
    "rows.csv\x00.xlsx",
    "rows.xlsx",
    "rows.php",
    "%2e%2e%2frows.csv",
    "x" * 4_000,
    "=cmd|' /C calc'!A0.csv",
    "\u202evsc.swor",
]


def upload(name: str) -> bytes:
    told = name.replace('"', "%22")
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{told}"\r\n\r\n'
    return head.encode() + b"name\nGarden\n" + f"\r\n--{BOUNDARY}--\r\n".encode()


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
async def test_no_name_of_an_upload_is_used(
    app: TestApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    answer = await app.call("POST", "/api/categories/import", as_whom="acme", headers=headers, content=upload(name))
    # A name that the form cannot hold is refused; every other one is passed over, its ending too.
    assert answer.status_code in (200, 400), answer.text
    if answer.status_code == 200:
        assert answer.json()["data"]["imported"] == 1
    assert name not in json.dumps(answer.json())
    assert made_in(tmp_path) == []


def made_in(folder: Path) -> list[Path]:
    """Files in the folder, and those outside of it that the names stand for."""
    outside = [Path("/tmp/tenantry-named-by-a-client"), Path("/etc/cron.d/tenantry")]
    return [*folder.iterdir(), *(path for path in outside if path.exists())]


async def test_an_export_is_named_by_the_service_alone(app: TestApp) -> None:
    for query in ("filename=../x", "format=csv%22%0d%0aSet-Cookie:%20a=b"):
        answer = await app.call("GET", f"/api/categories/export?{query}", as_whom="acme")
        assert answer.status_code == 400
        assert "set-cookie" not in answer.headers
    answer = await app.call("GET", "/api/categories/export?format=csv", as_whom="acme")
    assert answer.headers["content-disposition"].startswith('attachment; filename="categories-')
