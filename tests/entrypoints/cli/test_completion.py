"""``tenantry completion``: its scripts in the real shells, which ask the commands what may come next.

The addresses that the start tells to try.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from entrypoints.cli.completion import SHELLS, script
from entrypoints.cli.main import tenantry as commands
from entrypoints.server.serve import Greeting
from entrypoints.settings.settings import read_settings
from tests.entrypoints.processes import environment
from tests.waiting import HUNG_AFTER

PROGRAM = f'#!/bin/sh\nexec {sys.executable} -m entrypoints.cli.main "$@"\n'
BASH = """
source <(tenantry completion bash)
complete -p tenantry >/dev/null || exit 9
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_tenantry_completion tenantry
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
# `compdef`, `_describe` and `compadd` belong to zsh's line editor, which a script has not: these show the choices.
ZSH = """
compdef() {{ :; }}
_describe() {{ print -l -- "${{(@P)3}}"; }}
compadd() {{ print -l -- "${{(@P)argv[-1]}}"; }}
source <(tenantry completion zsh)
words=({words}); CURRENT=${{#words}}
_tenantry_completion
"""
FISH = """
tenantry completion fish | source
complete --do-complete "{words}"
"""
RUN = {"bash": ("--norc", "-c"), "zsh": ("-f", "-c"), "fish": ("--no-config", "-c")}
TEXTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
SHELL = [
    pytest.param(shell, marks=pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed"))
    for shell in SHELLS
]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A PATH whose first folder has ``tenantry``."""
    program = tmp_path / "tenantry"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return f"{tmp_path}:{os.environ['PATH']}"


def _offered(shell: str, words: str, path: str) -> set[str]:
    ended = subprocess.run(
        [shell, *RUN[shell], TEXTS[shell].format(words=words)],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(Path.cwd())},
        capture_output=True,
        text=True,
        timeout=HUNG_AFTER,
        check=False,
    )
    assert ended.returncode in (0, 1), ended.stderr  # 1 is what zsh's compadd gives for no choices
    assert ended.stderr == ""
    # fish shows the help behind a tab, zsh behind a colon
    return {line.partition("\t")[0].partition(":")[0] for line in ended.stdout.splitlines() if line}


@pytest.mark.parametrize("shell", SHELL)
def test_a_shell_completes_commands_options_and_choices(shell: str, path: str) -> None:
    assert _offered(shell, "tenantry mi", path) == {"migrate", "migrations"}
    assert "--json" in _offered(shell, "tenantry users list --", path)
    assert _offered(shell, "tenantry domains add acme.example --mode jo", path) == {"join"}


def test_completion_scripts_contain_no_command_names() -> None:
    for shell in SHELLS:
        assert "migrat" not in script(commands, shell)


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


def test_a_greeting_that_cannot_be_printed_is_written_to_standard_error(tmp_path: Path) -> None:
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
