"""docs/deploying.md: its configurations are accepted by nginx and Caddy, and clients are known through nginx."""

import re
import shutil
import ssl
import subprocess
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.documentation.documents import chapter
from tests.entrypoints.processes import PASSWORD, Serve, eventually, free_port
from tests.waiting import HUNG_AFTER

PAGE = chapter("deploying.md", "Behind nginx or Caddy")
NGINX, CADDY = shutil.which("nginx"), shutil.which("caddy")


def block(language: str) -> str:
    (text,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(text)


def settings() -> dict[str, str]:
    (text,) = (text for text in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "export" in text)
    return dict(re.findall(r"^export TENANTRY_(\w+)=(.*)$", text, re.MULTILINE))


def certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "api.example.com")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(1))
    signed = made.sign(key, hashes.SHA256())
    form = serialization.Encoding.PEM
    (folder / "api.example.com.pem").write_bytes(signed.public_bytes(form))
    private = key.private_bytes(form, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "api.example.com.key").write_bytes(private)


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    """The page's server, with a certificate and a folder of the test's own."""
    certificate(tmp_path)
    main = tmp_path / "nginx.conf"
    paths = "".join(
        f"{name}_temp_path {tmp_path}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    server = block("nginx").replace("/etc/ssl", str(tmp_path))
    head = f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}}\n"
    main.write_text(f"{head}http {{ access_log off; {paths}\n{server}\n}}\n")
    return main


@pytest.fixture
def proxied(configuration: Path, serve: Serve, migrated: dict[str, str]) -> Iterator[str]:
    """Address of nginx in front of a running service."""
    assert NGINX is not None
    served = serve(**migrated, **settings())
    # what the start tells to try is what the proxy answers, and not 400 for a host that is not named
    assert "Console: https://api.example.com/console" in served.words
    assert "curl -s https://api.example.com/api/auth/login" in served.words
    port = free_port()
    text = configuration.read_text().replace("listen 443", f"listen 127.0.0.1:{port}")
    text = text.replace("listen 80;", f"listen 127.0.0.1:{free_port()};")
    configuration.write_text(text.replace("http://127.0.0.1:8000", served.url))
    with subprocess.Popen([NGINX, "-c", str(configuration), "-p", str(configuration.parent)]) as nginx:
        eventually((configuration.parent / "pid").exists)
        yield f"https://127.0.0.1:{port}"
        nginx.terminate()


def call(url: str, token: str = "", body: bytes | None = None) -> str:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(url, body, {"Host": "api.example.com", "X-Forwarded-For": "203.0.113.9"})
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=HUNG_AFTER, context=trusting) as answer:
        return str(answer.read().decode())


@pytest.mark.skipif(NGINX is None, reason="no nginx on this machine")
def test_through_nginx_sessions_have_the_address_of_their_client(proxied: str) -> None:
    form = f'{{"email": "admin@example.com", "password": "{PASSWORD}"}}'
    token = re.findall(r'"token":"([^"]+)"', call(f"{proxied}/api/auth/login", body=form.encode()))[0]
    sessions = call(f"{proxied}/api/auth/sessions", token)
    assert '"127.0.0.1"' in sessions  # of the client, whatever it claimed
    assert "203.0.113.9" not in sessions


@pytest.mark.skipif(CADDY is None, reason="no Caddy on this machine")
def test_caddy_accepts_the_configuration(tmp_path: Path) -> None:
    assert CADDY is not None
    (tmp_path / "Caddyfile").write_text(block("caddyfile"))
    adapted = subprocess.run(
        [CADDY, "adapt", "--config", str(tmp_path / "Caddyfile"), "--validate"],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )
    assert adapted.returncode == 0, adapted.stderr
    assert '"dial":"127.0.0.1:8000"' in adapted.stdout
