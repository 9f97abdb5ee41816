"""Mistakes in patterns: alternatives that are anchored in part, and patterns that a short text keeps busy for hours."""

import re
from collections.abc import Iterator, Sequence
from re import _constants as codes  # type: ignore[attr-defined]  # the parser of ``re`` itself: no second grammar to keep
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Node = tuple[Any, Any]

_STARTS = (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING)
_ENDS = (codes.AT_END, codes.AT_END_STRING)
_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT)
# From this many on a repetition counts as without end: 2 to the power of 20 ways are a second of work.
_MANY = 20
# The characters by which two parts of a pattern are compared: ASCII, and a letter, a digit and a blank beyond it.
_SAMPLE = (*map(chr, range(128)), "é", "٣", "\u00a0")


def pattern_mistakes(pattern: str) -> Iterator[str]:
    """What is wrong with a pattern, each a part of a sentence that follows the field's name."""
    nodes = list(parser.parse(pattern))
    if any(len(_anchors(nodes, place, at)) > 1 for place, at in ((0, _STARTS), (-1, _ENDS))):
        yield (
            f"has the pattern {pattern!r}, which anchors only some of its alternatives: write them in brackets, as in "
            "'^(?:a|b)$'"
        )
    if _explodes(nodes):
        yield (
            f"has the pattern {pattern!r}, in which a repetition repeats another: a text that nearly matches would "
            "take hours; write the repetition once, as '[a-z]+' instead of '([a-z]+)+'"
        )


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


def _explodes(nodes: Sequence[Node]) -> bool:
    return any(_is_ambiguous(body) if is_repeat else _explodes(body) for body, is_repeat in _bodies(nodes))


def _bodies(nodes: Sequence[Node]) -> Iterator[tuple[list[Node], bool]]:
    for code, value in nodes:
        if code in _REPEATS:
            yield list(value[2]), value[1] >= _MANY
        elif code is codes.SUBPATTERN:
            yield list(value[-1]), False
        elif code is codes.BRANCH:
            yield from ((list(branch), False) for branch in value[1])


def _is_ambiguous(body: list[Node]) -> bool:
    """Tells whether one run of a character can be divided among the rounds of a repetition in many ways.

    ``([a-z]+)+`` and ``(.*,)+`` can, ``([a-z]+-)+`` cannot: the hyphen says where a round ends.
    """
    flat = _flattened(body)
    for place, (code, value) in enumerate(flat):
        if code in _REPEATS and value[1] >= _MANY and len(value[2]) == 1:
            taken = _characters(value[2][0])
            others = [*flat[:place], *flat[place + 1 :]]
            if taken and all(_is_skipped(node) or taken & _characters(node) for node in others):
                return True
    return _explodes(body)


def _flattened(nodes: Sequence[Node]) -> list[Node]:
    # A group that is not repeated itself is a part of the sequence around it.
    flat: list[Node] = []
    for code, value in nodes:
        flat += _flattened(list(value[-1])) if code is codes.SUBPATTERN else [(code, value)]
    return flat


def _is_skipped(node: Node) -> bool:
    code, value = node
    return (code in _REPEATS and value[0] == 0) or (code is codes.BRANCH and any(not list(b) for b in value[1]))


def _characters(node: Node) -> frozenset[str]:
    """The characters of the sample that a single element takes; none for an element that is not single."""
    code, value = node
    if code in _REPEATS and len(value[2]) == 1:
        return _characters(value[2][0])
    if code is codes.SUBPATTERN and len(value[-1]) == 1:
        return _characters(value[-1][0])
    if code not in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY):
        return frozenset()
    return frozenset(text for text in _SAMPLE if _takes(node, text))


def _takes(node: Node, text: str) -> bool:
    code, value = node
    if code is codes.IN:
        is_negated = value[0][0] is codes.NEGATE
        return is_negated is not any(_takes(part, text) for part in value[is_negated:])
    if code is codes.RANGE:
        return bool(value[0] <= ord(text) <= value[1])
    if code is codes.CATEGORY:
        return re.match(_CATEGORIES[str(value)], text) is not None
    return (code is codes.ANY and text != "\n") or (
        code in _LITERALS and (ord(text) == value) is (code is codes.LITERAL)
    )


_LITERALS = (codes.LITERAL, codes.NOT_LITERAL)
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
