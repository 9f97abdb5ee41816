"""The addresses that the start tells to try."""

import subprocess
import sys
from pathlib import Path

import pytest

from entrypoints.server.serve import Greeting
from entrypoints.settings.settings import read_settings
from tests.entrypoints.processes import environment
from tests.waiting import HUNG_AFTER

SECRET = "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD"


@pytest.mark.parametrize(
    ("variables", "called"),
    [
        ({}, "http://127.0.0.1:8000"),
        ({"HOST": "0.0.0.0"}, "http://127.0.0.1:8000"),  # read, not bound
        ({"HOST": "0.0.0.0", "ALLOWED_HOSTS": "api.example"}, "http://127.0.0.1:8000"),
        ({"ALLOWED_HOSTS": "api.example", "BASE_URL": "https://api.example"}, "https://api.example"),
        ({"BASE_URL": "https://api.example"}, "http://127.0.0.1:8000"),
    ],
    ids=["nothing", "everywhere", "everywhere and hosts", "hosts and an address", "an address"],
)
def test_an_address_to_try_is_one_that_answers(variables: dict[str, str], called: str, tmp_path: Path) -> None:
    """A host that is not named is answered 400, and no browser goes to ``0.0.0.0``."""
    given = {f"TENANTRY_{name}": value for name, value in {"SECRET_KEY": SECRET, **variables}.items()}
    lines = list(Greeting(read_settings(given, tmp_path), is_embedded=False).lines())
    assert f"Documentation: {called}/docs/index.html" in lines
    assert any(f"curl -s {called}/api/auth/login" in line for line in lines)


def test_a_greeting_that_cannot_be_printed_stands_on_standard_error(tmp_path: Path) -> None:
    """It has the password of the first super-admin, which is told this once."""
    says = (
        "from pathlib import Path; from entrypoints.server.serve import Greeting;"
        "from entrypoints.settings.settings import read_settings;"
        f"settings = read_settings({{'TENANTRY_SECRET_KEY': {SECRET!r}}}, Path({str(tmp_path)!r}));"
        "Greeting(settings, is_embedded=False, password='said-this-once').say()"
    )
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", says],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment({}),
            text=True,
            timeout=HUNG_AFTER,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr
    assert "said-this-once" in ended.stderr
    assert "Exception ignored" not in ended.stderr
