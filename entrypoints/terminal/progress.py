"""Progress of a command on standard error, only on a terminal: a piped command prints only its answer."""

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
    """Show a bar and yield the function that advances it. A bar without a total moves back and forth."""
    chosen = columns or (TaskProgressColumn(),)
    with _progress(*chosen) as progress:
        task = progress.add_task(title, total=total)
        yield lambda count: progress.advance(task, count)


@contextmanager
def step_bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar from the first call ``tell(done, total)`` on. Without steps, show nothing."""
    with _progress(MofNCompleteColumn()) as progress:
        task = progress.add_task(title, total=None, visible=False)

        def tell(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total, visible=True)

        yield tell


@contextmanager
def counter(title: str, unit: str) -> Iterator[Name]:
    """Count started items, and yield the function that names the current one: ``name("books")``."""
    with _progress(COUNT) as progress:
        task = progress.add_task(title, total=None, unit=unit)

        def name(thing: str) -> None:
            progress.update(task, advance=1, description=f"{title} {thing}")

        yield name


def _progress(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)  # standard output contains only the command's answer
    every = (TextColumn("{task.description}", markup=False), BarColumn(), *columns, TimeElapsedColumn())
    # Remove the last state too: only the answer remains.
    return Progress(*every, console=console, disable=not is_watched(), transient=True)
