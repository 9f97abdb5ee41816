"""Every command with its arguments and options."""

from collections.abc import Iterator
from inspect import cleandoc

import rich_click as click

from entrypoints.cli.main import tenantry
from tools.reference.markdown import block, code, sections, table

INTRODUCTION = """\
What `tenantry COMMAND --help` prints, for all commands. [The command line](../command-line.md) tells where commands
find the servers, and the exit codes."""


def page() -> str:
    return sections("# All commands", INTRODUCTION, *_commands(tenantry, ("tenantry",)))


def _commands(group: click.Group, path: tuple[str, ...]) -> Iterator[str]:
    context = click.Context(group, info_name=" ".join(path))
    for name in sorted(group.list_commands(context)):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from _commands(command, (*path, name))
        else:
            yield from _command(command, (*path, name))


def _command(command: click.Command, path: tuple[str, ...]) -> Iterator[str]:
    context = click.Context(command, info_name=" ".join(path))
    yield f"## {' '.join(path[1:])}"
    yield block(" ".join([*path, *command.collect_usage_pieces(context)]), "text")
    yield cleandoc(command.help or "").replace("\b\n", "")
    rows = [
        (_names(option), option.help or "")
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden
    ]
    if rows:
        yield table(("Option", "Meaning"), rows)


def _names(option: click.Option) -> str:
    names = ", ".join(code(name) for name in (*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} {option.make_metavar(click.Context(click.Command('tenantry')))}"
