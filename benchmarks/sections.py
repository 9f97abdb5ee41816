"""Parts of documents that a command writes, between two comments; the rest of a document is anyone's."""

from benchmarks.failures import BenchmarkFailed


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written by a command -->", f"<!-- end of {name} -->"


def section(text: str, name: str) -> str | None:
    """The part with its comments; None where there is none."""
    begin, end = marks(name)
    _, found, rest = text.partition(begin)
    inside, ended, _ = rest.partition(end)
    return begin + inside + end if found and ended else None


def with_section(text: str, name: str, content: str) -> str:
    """The text with another content between the comments. Raises BenchmarkFailed where they are missing."""
    old = section(text, name)
    if old is None:
        raise BenchmarkFailed(f"The document has no part called {name}: {marks(name)[0]} begins it.")
    begin, end = marks(name)
    return text.replace(old, f"{begin}\n\n{content.strip()}\n\n{end}")
