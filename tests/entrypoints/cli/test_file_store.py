"""``tenantry files check``: the store of files, compared with the database."""

from pathlib import Path

from tests.entrypoints.processes import Tenantry

KEY = "01900000-0000-7000-8000-000000000001/2026/11/01900000-0000-7000-8000-000000000002"


def test_contents_without_a_file_are_reported_and_deleted_on_request(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    content = tmp_path / "store" / KEY
    content.parent.mkdir(parents=True)
    content.write_bytes(b"content")
    settings = {**migrated, "FILES_URL": f"file://{tmp_path}/store"}
    found = tenantry("files", "check", **settings)
    assert (found.returncode, found.stderr) == (0, "")
    assert "1 contents without a file." in found.stdout
    assert KEY in found.stdout
    assert content.exists()
    repaired = tenantry("files", "check", "--repair", **settings)
    assert (repaired.returncode, repaired.stderr) == (0, "")
    assert not content.exists()
    assert "0 contents without a file." in tenantry("files", "check", **settings).stdout
