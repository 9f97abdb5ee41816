"""``tenantry completion``: its scripts in the real shells, which ask the commands what may come next."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from entrypoints.cli.completion import SHELLS, script
from entrypoints.cli.main import tenantry as commands
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


def test_no_name_of_a_command_stands_in_a_script() -> None:
    for shell in SHELLS:
        assert "migrat" not in script(commands, shell)
