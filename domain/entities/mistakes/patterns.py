"""Mistakes in patterns: alternatives that are anchored in part, and patterns that a short text keeps busy for hours."""

import math
import re
from collections.abc import Iterator, Sequence
from re import _constants as codes  # type: ignore[attr-defined]  # the parser of ``re`` itself: no second grammar to keep
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from domain.entities.mistakes.ambiguity import degree

Node = tuple[Any, Any]

_STARTS = (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING)
_ENDS = (codes.AT_END, codes.AT_END_STRING)
# Characters that are compared for one text: the twentieth of a second.
_MOST_WORK = 5_000_000


def pattern_mistakes(pattern: str, longest: int | None) -> Iterator[str]:
    """What is wrong with a pattern for texts of up to a length, each a part of a sentence after the field's name."""
    nodes = list(parser.parse(pattern))
    if any(len(_anchors(nodes, place, at)) > 1 for place, at in ((0, _STARTS), (-1, _ENDS))):
        yield (
            f"has the pattern {pattern!r}, which anchors only some of its alternatives: write them in brackets, as in "
            "'^(?:a|b)$'"
        )
    power = degree(pattern)
    if math.isinf(power):
        yield (
            f"has the pattern {pattern!r}, in which a repetition reads one text in many ways: a text that nearly "
            "matches would take hours; leave one way, as '[a-z]+' instead of '([a-z]+)+' or '(?:[a-z]+|[0-9])+'"
        )
    elif power > 1 and (longest or math.inf) > (most := _longest(int(power))):
        yield (
            f"has the pattern {pattern!r}, which may take as long as the length of a text to the power of {power}: "
            f"add max_length={most} or less, or begin it with '^' and let no two repetitions read the same text"
        )


def _longest(power: int) -> int:
    """Length of the longest text for which a pattern of this power is quick."""
    return int((_MOST_WORK * math.factorial(power)) ** (1 / power))


def whole_text(pattern: str) -> str:
    r"""The pattern with ``\Z`` for each ``$``, which in Python also matches before a final line feed."""
    if parser.parse(pattern).state.flags & re.MULTILINE:
        return pattern  # ``(?m)`` asks for the ends of lines
    return re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$", _ended, pattern, flags=re.DOTALL)


def _ended(found: re.Match[str]) -> str:
    # Escaped characters and sets are taken whole, so that a ``$`` in them stays what it is.
    return r"\Z" if found.group() == "$" else found.group()


def _anchors(nodes: Sequence[Node], place: int, at: Sequence[Any]) -> set[bool]:
    """Whether the alternatives of a pattern begin (or end) with an anchor: both values for a mixture."""
    if not nodes:
        return {False}
    code, value = nodes[place]
    if code is codes.AT:
        return {value in at}
    if code is codes.BRANCH:
        return {found for branch in value[1] for found in _anchors(list(branch), place, at)}
    if code is codes.SUBPATTERN:
        return _anchors(list(value[-1]), place, at)
    return {False}
