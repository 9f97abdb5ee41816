"""Progress of a command on standard error, on a terminal alone: piped, a command says nothing but its answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from entrypoints.terminal.answers import is_watched

Advance = Callable[[int], None]
Name = Callable[[str], None]

COUNT = TextColumn("{task.completed:.0f} {task.fields[unit]}")


@contextmanager
def progress_bar(title: str, total: int | None, *columns: ProgressColumn) -> Iterator[Advance]:
    """Shows a bar, and yields the function that advances it; a bar without a total moves to and fro."""
    chosen = columns or (TaskProgressColumn(),)
    with _progress(*chosen) as progress:
        task = progress.add_task(title, total=total)
        yield lambda count: progress.advance(task, count)


@contextmanager
def step_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Shows a bar that appears with the first step: ``tell(done, total)``. Nothing to do shows nothing."""
    with _progress(MofNCompleteColumn()) as progress:
        task = progress.add_task(title, total=None, visible=False)

        def tell(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, visible=True)

        yield tell


@contextmanager
def counter(title: str, unit: str) -> Iterator[Name]:
    """Shows how many things were begun, and yields the function that names the one at work: ``name("books")``."""
    with _progress(COUNT) as progress:
        task = progress.add_task(title, total=None, unit=unit)

        def name(thing: str) -> None:
            progress.update(task, advance=1, description=f"{title} {thing}")

        yield name


def _progress(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)  # standard output carries the command's answer alone
    every = (TextColumn("{task.description}", markup=False), BarColumn(), *columns, TimeElapsedColumn())
    # The last state goes too: the answer stands alone.
    return Progress(*every, console=console, disable=not is_watched(), transient=True)
