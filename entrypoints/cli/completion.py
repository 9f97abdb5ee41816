"""``tenantry completion``: scripts that have a shell ask the commands themselves what may come next."""

import rich_click as click
from click.shell_completion import get_completion_class

NAME = "tenantry"
VARIABLE = "_TENANTRY_COMPLETE"
"""Variable by which a shell's script asks: `_TENANTRY_COMPLETE=bash_complete tenantry` prints what may come next."""
# Those of click, all of which ask at each key press: no list of commands stands in them that could be old.
SHELLS = ("bash", "zsh", "fish")


def script(commands: click.Group, shell: str) -> str:
    made = get_completion_class(shell)
    assert made is not None, shell
    return made(commands, {}, NAME, VARIABLE).source()
