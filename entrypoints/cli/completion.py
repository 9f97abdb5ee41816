"""``tenantry completion``: shell scripts that ask the commands for completions."""

import rich_click as click
from click.shell_completion import get_completion_class

NAME = "tenantry"
VARIABLE = "_TENANTRY_COMPLETE"
"""Variable for a shell's completion request: `_TENANTRY_COMPLETE=bash_complete tenantry` prints completions."""
# click supports these shells. Each key press asks the command, so the scripts contain no list.
SHELLS = ("bash", "zsh", "fish")


def script(commands: click.Group, shell: str) -> str:
    made = get_completion_class(shell)
    assert made is not None, shell
    return made(commands, {}, NAME, VARIABLE).source()
