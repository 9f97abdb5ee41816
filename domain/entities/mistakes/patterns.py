"""Mistakes in patterns: alternatives that are anchored in part, and patterns that a short text keeps busy for hours.

A pattern is quick where the text itself decides how it is read: the character behind a repetition is none that the
repetition reads, and two alternatives begin with different characters. In a group that repeats this is required.
Elsewhere each undecided repetition raises the power of the text's length with which the time grows.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import combinations, takewhile

from msgspec import Struct

# Characters that are compared for one text: the twentieth of a second.
_MOST_WORK = 5_000_000
_FEW = 300
"""Most rounds of a repetition that adds to a time, and does not make it grow with the text."""
_FEW_ROUNDS = 4
"""Most rounds of a group that count as groups behind each other, and not as one that repeats."""
_STARTS, _ENDS = ("^", r"\A"), ("$", r"\Z")
_ANCHORS = (*_STARTS, *_ENDS, r"\b", r"\B")
_LOOKS = ("(?=", "(?!", "(?<=", "(?<!")
# The characters by which elements are compared, with those of the pattern: ASCII, a letter, a digit and a blank beyond.
_SAMPLE = (*map(chr, range(128)), "é", "٣", "\u00a0")
_TOKEN = re.compile(
    r"""\\(?:x..|u.{4}|U.{8}|N\{[^}]*\}|[0-9]+|.)
    |\[\^?\]?(?:\\.|[^\]\\])*\]
    |\((?:\?(?:P<\w+>|P=\w+\)|\#[^)]*\)|\(\w+\)|[aiLmsux-]*[:)]|[=!>]|<[=!]))?
    |(?:[*+?]|\{[0-9]+\}|\{[0-9]*,[0-9]*\})[?+]?
    |.""",
    re.DOTALL | re.VERBOSE,
)
_REPEATS = re.compile(r"(?:([*+?])|\{([0-9]*)(,?)([0-9]*)\})[?+]?")
_ANYTHING = re.compile(r"\\[1-9].*|\(\?P=.*")
"""What a group has read before."""
_SILENT = re.compile(r"\(\?(?:#|[aiLmsux-]+\)).*", re.DOTALL)
"""Comments, and flags."""


class Piece(Struct, frozen=True):
    """A part of a pattern, which repeats: an element that reads one of ``chars``, or a group of alternatives.

    An anchor is a group that reads nothing.
    """

    text: str
    chars: frozenset[str] = frozenset()
    ways: tuple[tuple["Piece", ...], ...] = ()
    least: int = 1
    most: float = 1


Way = Sequence[Piece]


def pattern_mistakes(pattern: str, longest: int | None) -> Iterator[str]:
    """What is wrong with a pattern for texts of up to a length, each a part of a sentence after the field's name."""
    ways = _read(pattern).ways
    if any(len(_anchors(ways, place, at)) > 1 for place, at in ((0, _STARTS), (-1, _ENDS))):
        yield (
            f"has the pattern {pattern!r}, which anchors only some of its alternatives: write them in brackets, as in "
            "'^(?:a|b)$'"
        )
    power = degree(pattern)
    if math.isinf(power):
        yield (
            f"has the pattern {pattern!r}, with a repeated group that reads one text in many ways: a text that nearly "
            "matches could take hours. In a repeated group, let alternatives begin with different characters, and let "
            "no repetition read the character that follows it: '(?:-[a-z]+)*' instead of '(?:-?[a-z]+)*', and "
            "'(?:ab?)*' instead of '(?:a|ab)*'"
        )
    elif power > 1 and (longest or math.inf) > (most := _longest(int(power))):
        yield (
            f"has the pattern {pattern!r}, which may take as long as the length of a text to the power of {power}: "
            f"add max_length={most} or less, or begin it with '^' and let no repetition read the character that "
            "follows it"
        )


def degree(pattern: str) -> float:
    """Power of a text's length with which the time of a failing search may grow; infinite where it doubles."""
    reader = _read(pattern)
    starts = _STARTS[1:] if re.compile(pattern).flags & re.MULTILINE else _STARTS
    # a search begins at each place of the text, as if a repetition of anything stood in front
    begins = [] if _anchors(reader.ways, 0, starts) == {True} else [True]
    try:
        # what the pattern looks ahead or behind for is searched by itself
        runs = [[*begins, *_undecided(reader.ways)], *([*_undecided(ways)] for ways in reader.looks)]
    except _Doubles:
        return math.inf
    return max(map(_longest_run, runs))


class _Doubles(Exception):
    """A repeated group reads one text in several ways, so that the time doubles with each round."""


def _longest_run(undecided: Iterable[bool | None]) -> int:
    """Length of the longest row of repetitions of which each but the last leaves undecided where it ends."""
    longest = length = 1
    for is_undecided in undecided:
        longest = max(longest, length)
        if is_undecided is not None:
            length = length + 1 if is_undecided else 1
    return longest


def _undecided(ways: Iterable[Way], after: frozenset[str] = frozenset(), rounds: float = 1) -> Iterator[bool | None]:
    """Whether each repetition without end reads a character that may follow it. Raises _Doubles.

    None for one that is decided and may read nothing: those around it are neighbours then.
    """
    for way in ways:
        for part, following in _with_following(way, after):
            if part.ways and rounds * part.most <= _FEW_ROUNDS:
                again = following | _firsts([part]) if part.most > 1 else following
                yield from [*_undecided(part.ways, again, rounds * part.most)] * int(part.most)
                continue
            if part.ways and _is_ambiguous([part], frozenset()):
                raise _Doubles
            if part.most > (_FEW if rounds == 1 else _FEW_ROUNDS):
                is_decided = _firsts([part]).isdisjoint(following)
                yield None if is_decided and part.least == 0 else not is_decided


def _is_ambiguous(way: Way, after: frozenset[str]) -> bool:
    """Whether some text leaves it undecided how a part of a repeated group is read."""
    return any(_is_open(part, following) for part, following in _with_following(way, after))


def _is_open(part: Piece, following: frozenset[str]) -> bool:
    if part.text in _ANCHORS:
        return False
    empty = sum(map(_may_be_empty, part.ways))
    if (empty or part.least != part.most) and not _firsts([part]).isdisjoint(following):
        return True
    # a group that reads nothing does so by one way, and not by its repetition too
    if empty > (part.least == part.most == 1):
        return True
    again = following | _firsts([part]) if part.most > 1 else following
    is_told = all(_differ(*pair) for pair in combinations(part.ways, 2))
    return not is_told or any(_is_ambiguous(way, again) for way in part.ways)


def _differ(first: Way, second: Way) -> bool:
    """Whether no text can begin both alternatives."""
    # texts of a list of words differ at some letter, not at their first one alone
    single = [[*takewhile(lambda part: part.chars and part.least == part.most == 1, way)] for way in (first, second)]
    if any(here.chars.isdisjoint(there.chars) for here, there in zip(*single, strict=False)):
        return True
    return _firsts(first).isdisjoint(_firsts(second))


def _with_following(way: Way, after: frozenset[str]) -> Iterator[tuple[Piece, frozenset[str]]]:
    """The parts, each with the characters that may follow it."""
    for place, part in enumerate(way):
        rest = way[place + 1 :]
        yield part, _firsts(rest) | (after if _may_be_empty(rest) else frozenset())


def _firsts(way: Way) -> frozenset[str]:
    """Characters with which what the parts read may begin."""
    found = frozenset[str]()
    for part in way:
        found = found.union(part.chars, *map(_firsts, part.ways))
        if not _may_be_empty([part]):
            break
    return found


def _may_be_empty(way: Way) -> bool:
    return all(part.least == 0 or any(map(_may_be_empty, part.ways)) for part in way)


@cache
def _read(pattern: str) -> "_Reader":
    return _Reader(pattern)


class _Reader:
    """Reader of a pattern: ``ways`` are its alternatives, ``looks`` those of what it looks ahead or behind for."""

    def __init__(self, pattern: str) -> None:
        self._flags = re.compile(pattern).flags | (re.IGNORECASE if re.search(r"\(\?[a-z]*i", pattern) else 0)
        self._sample = frozenset((*_SAMPLE, *pattern, *pattern.lower(), *pattern.upper()))
        text = re.sub(r"\s|(?<!\\)#.*", "", pattern) if self._flags & re.VERBOSE else pattern
        self._tokens = (token for token in _TOKEN.findall(text) if not _SILENT.fullmatch(token))
        self._chars = cache(self._chars_of)
        self.looks: list[tuple[tuple[Piece, ...], ...]] = []
        self.ways = self._alternatives()

    def _alternatives(self) -> tuple[tuple[Piece, ...], ...]:
        """The alternatives up to the end of their group."""
        ways: list[list[Piece]] = [[]]
        for token in self._tokens:
            # a quantifier changes the piece before it
            if token == ")":  # noqa: S105  # of a pattern
                break
            if token == "|":  # noqa: S105  # of a pattern
                ways.append([])
            elif ways[-1] and (bounds := _REPEATS.fullmatch(token)):
                ways[-1].append(_repeated(ways[-1].pop(), bounds))
            elif token in _LOOKS:
                self.looks.append(self._alternatives())
            else:
                ways[-1].append(self._part(token))
        return tuple(map(tuple, ways))

    def _part(self, token: str) -> Piece:
        if _ANYTHING.fullmatch(token):
            return Piece(token, self._sample, least=0, most=math.inf)
        if token.startswith("("):
            return Piece(token, ways=self._alternatives())
        return Piece(token, ways=((),)) if token in _ANCHORS else Piece(token, self._chars(token))

    def _chars_of(self, token: str) -> frozenset[str]:
        element = re.compile(token, self._flags & (re.IGNORECASE | re.ASCII | re.DOTALL))
        return frozenset(char for char in self._sample if element.fullmatch(char))


def _repeated(part: Piece, bounds: re.Match[str]) -> Piece:
    sign, least, comma, most = bounds.groups()
    if sign:
        low, high = {"*": (0, math.inf), "+": (1, math.inf), "?": (0, 1)}[sign]
    else:
        low, high = int(least or 0), int(most) if most else math.inf if comma else int(least)
    return Piece(part.text, part.chars, part.ways, low, high)


def _longest(power: int) -> int:
    """Length of the longest text for which a pattern of this power is quick."""
    return int((_MOST_WORK * math.factorial(power)) ** (1 / power))


def whole_text(pattern: str) -> str:
    r"""The pattern with ``\Z`` for each ``$``, which in Python also matches before a final line feed."""
    if re.compile(pattern).flags & re.MULTILINE:
        return pattern  # ``(?m)`` asks for the ends of lines
    # escaped characters and sets are taken whole, so that a ``$`` in them stays what it is
    return re.sub(
        r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\$",
        lambda found: r"\Z" if found[0] == "$" else found[0],
        pattern,
        flags=re.DOTALL,
    )


def _anchors(ways: Iterable[Way], place: int, at: Sequence[str]) -> set[bool]:
    """Whether the alternatives of a pattern begin (or end) with an anchor: both values for a mixture."""
    found = set[bool]()
    for way in ways:
        part = way[place] if way else Piece("")
        is_group = part.text.startswith("(") and part.least == part.most == 1
        found |= _anchors(part.ways, place, at) if is_group else {part.text in at}
    return found
