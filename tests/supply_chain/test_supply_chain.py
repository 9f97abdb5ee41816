"""The list of components and the audit of what is shipped."""

import json
import re
from pathlib import Path

import jsonschema_rs
import pytest

from supply_chain.audit import LOCKS, is_allowed, main, mistakes
from supply_chain.locks import CONSOLE, ROOT, SHIPPED, pinned, pinned_without_extras, shipped, unpinned
from supply_chain.sbom import sbom

SCHEMA = {
    "type": "object",
    "required": ["bomFormat", "specVersion", "version", "serialNumber", "components", "dependencies"],
    "properties": {
        "bomFormat": {"const": "CycloneDX"},
        "specVersion": {"const": "1.6"},
        "serialNumber": {"pattern": "^urn:uuid:[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$"},
        "components": {
            "uniqueItems": True,
            "items": {
                "required": ["type", "name", "version", "purl", "bom-ref"],
                "properties": {
                    "hashes": {"items": {"properties": {"content": {"pattern": "^[0-9a-f]{64}$"}}}},
                    "licenses": {"maxItems": 1, "items": {"required": ["expression"]}},
                },
            },
        },
    },
}
"""What the format asks of the parts that are written here."""


def test_the_list_has_every_package_of_the_locks_with_version_licence_and_hashes() -> None:
    made = sbom()
    jsonschema_rs.validate(SCHEMA, made)
    listed = {component["purl"]: component for component in made["components"]}
    for file in SHIPPED:
        lines = re.findall(r"^([a-z0-9._-]+)\S*==(\S+)", file.read_text(), re.MULTILINE)
        assert len(lines) > 30
        for name, version in lines:
            component = listed[f"pkg:pypi/{name}@{version}"]
            assert component["hashes"]
            assert component["licenses"]
    assert "pkg:npm/preact@" in json.dumps(made)
    references = {made["metadata"]["component"]["bom-ref"], *listed}
    assert {entry["ref"] for entry in made["dependencies"]} <= references
    assert all(other in references for entry in made["dependencies"] for other in entry["dependsOn"])
    (alembic,) = [entry for entry in made["dependencies"] if entry["ref"].startswith("pkg:pypi/alembic@")]
    assert any(other.startswith("pkg:pypi/sqlalchemy@") for other in alembic["dependsOn"])


def test_the_list_is_the_same_for_the_same_locks() -> None:
    assert sbom() == sbom()


def test_tools_of_the_console_are_not_listed() -> None:
    tools = {path for path, package in json.loads(CONSOLE.read_text())["packages"].items() if package.get("dev")}
    names = {package.name for package in shipped() if package.ecosystem == "npm"}
    assert tools
    assert names.isdisjoint(path.rpartition("node_modules/")[2] for path in tools)


def test_all_is_pinned_and_every_licence_is_allowed() -> None:
    assert list(mistakes()) == []
    assert {file.name for file in LOCKS} >= {"run.txt", "server.txt", "dev.txt", "build.txt"}


def test_an_image_with_traces_has_all_that_one_without_has() -> None:
    versions = {
        name: {package: version for package, version, _ in pinned(ROOT / "requirements" / f"{name}.txt")}
        for name in ("server", "traces")
    }
    assert versions["server"].items() <= versions["traces"].items()


@pytest.mark.parametrize("line", ["msgspec>=0.22", "msgspec==0.22.0", "msgspec"])
def test_a_line_without_one_version_and_hashes_is_found(tmp_path: Path, line: str) -> None:
    file = tmp_path / "lock.txt"
    file.write_text(f"{line}\nidna==3.20 \\\n    --hash=sha256:{'a' * 64}\n")
    assert unpinned(file) == ["msgspec"]
    assert ("idna", "3.20", ("a" * 64,)) in list(pinned(file))


@pytest.mark.parametrize(("pin", "expected"), [("coverage", ["pytest-cov: coverage[toml]"]), ("coverage[toml]", [])])
def test_an_extra_that_a_lock_leaves_out_is_found(tmp_path: Path, pin: str, expected: list[str]) -> None:
    file = tmp_path / "lock.txt"
    hashes = f"\\\n    --hash=sha256:{'a' * 64}\n"
    file.write_text(f"{pin}==7.17.3 {hashes}pytest-cov==7.1.0 {hashes}")
    assert pinned_without_extras(file) == expected
    assert unpinned(file) == []


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND PSF-2.0", True),
    ],
)
def test_a_licence_is_allowed_in_all_its_parts(licence: str, expected: bool) -> None:
    assert is_allowed(licence) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((0, "No known vulnerabilities found"), 0),
        ((1, "Found 1 known vulnerability in 1 package\nidna 3.1 GHSA-jjg7-2v4v-x38h"), 1),
        ((1, "Found 2 known vulnerabilities, ignored 0\nmsgspec  could not be audited"), 1),
        # it ends well although it could ask about nothing
        ((0, "No known vulnerabilities found\nidna  Dependency not found and could not be audited"), 3),
        ((1, "ConnectionError: no route to host"), 3),
        ((2, ""), 3),
    ],
)
def test_a_known_weakness_fails_the_audit(answer: tuple[int, str], expected: int) -> None:
    assert main(lambda _: answer) == expected


def test_times_for_updates_are_said() -> None:
    times = re.findall(r"^\| a(?:nother)? .*\b(\d+) days.* \|$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE)
    assert times == ["3", "14", "60", "90"]
