"""Tables and texts of the generated pages."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell(text) for text in line)} |" for line in lines)


def cell(text: str) -> str:
    """Text of one cell: ``a | b`` would end it."""
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    return f"`{text}`"


def codes(names: Iterable[str]) -> str:
    return ", ".join(map(code, names))


def block(text: str, language: str = "") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def sections(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"
