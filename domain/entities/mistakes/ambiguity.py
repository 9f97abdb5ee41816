"""Number of ways in which a pattern reads a text, as Python's backtracking tries them: one, or more with its length.

A pattern becomes an automaton with a position for each element that takes a character (Glushkov's construction, with
the number of ways between two positions). Two ways round one loop by the same text make a time that doubles with each
character; two loops that read the same text one after the other make a time that grows with its square.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from re import _constants as codes  # type: ignore[attr-defined]  # the parser of ``re`` itself: no second grammar to keep
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from msgspec import Struct

Node = tuple[Any, Any]
Ways = dict[int, int]
"""Positions with the number of ways to each: 2 stands for all above."""

_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT)
# From so many decisions on a repetition counts as without end: 2 to the power of 20 ways are a second of work.
_MANY = 20
_FEW = 300
"""Most rounds of a repetition that adds to a time, and does not make it grow with the text."""
_COPIES = 6  # of what is repeated a few times: more loops behind each other make no difference
_MOST_STEPS = 50_000
# The characters by which elements are compared: ASCII, and a letter, a digit and a blank beyond it.
_SAMPLE = (*map(chr, range(128)), "é", "٣", "\u00a0")
_START, _END = "start", "end"
"""What ``^`` and ``$`` take, beside the characters: no loop reads either."""


class Fragment(Struct):
    """Positions where a part of a pattern begins and ends, and the number of ways to read nothing with it."""

    firsts: Ways
    lasts: Ways
    empty: int = 0


def degree(pattern: str) -> float:
    """Power of a text's length with which the time of a failing search may grow; infinite where it doubles."""
    parsed = parser.parse(pattern)
    return max(Automaton(nodes, pattern, parsed.state.flags).degree() for nodes in _independent(list(parsed)))


def _independent(nodes: list[Node]) -> Iterator[list[Node]]:
    """The pattern, and the patterns that it looks ahead or behind for, which are searched by themselves."""
    yield nodes
    for code, value in nodes:
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _independent([(codes.AT, codes.AT_BEGINNING), *value[1]])
        elif code is codes.ATOMIC_GROUP:
            yield from _independent([(codes.AT, codes.AT_BEGINNING), *value])
        else:
            for body in _bodies(code, value):
                yield from list(_independent(body))[1:]


def _bodies(code: Any, value: Any) -> list[list[Node]]:
    if code in (*_REPEATS, codes.POSSESSIVE_REPEAT):
        return [list(value[2])]
    if code is codes.SUBPATTERN:
        return [list(value[-1])]
    if code is codes.BRANCH:
        return [list(branch) for branch in value[1]]
    if code is codes.GROUPREF_EXISTS:
        return [list(value[1]), list(value[2] or ())]
    return [list(value)] if code is codes.ATOMIC_GROUP else []


class Automaton:
    """Positions of a pattern, what each takes, and which follow each other."""

    def __init__(self, nodes: list[Node], pattern: str, flags: int) -> None:
        self.flags = flags
        self.sample = (*_SAMPLE, *sorted(set(pattern) - set(_SAMPLE)), _START, _END)
        self.taken: list[frozenset[str]] = []
        self.following: list[Ways] = []
        self.few = set[tuple[int, int]]()  # steps that begin a further round of a repetition of a few hundred
        self.is_sure = True  # whether a last position is the end of a match, whatever comes
        # A search begins at each place of the text, as if anything stood in front.
        self.before = self._loop(self._position(frozenset(self.sample) - {_START, _END}))
        whole = self._sequence(nodes)
        self.lasts = set(whole.lasts) if self.is_sure else set()
        self.never_fails = bool(whole.empty) and self.is_sure
        self._link(self.before, whole)
        self.lasting = [
            {other: count for other, count in ways.items() if (place, other) not in self.few}
            for place, ways in enumerate(self.following)
        ]

    def _position(self, taken: frozenset[str]) -> Fragment:
        self.taken.append(taken)
        self.following.append({})
        place = len(self.taken) - 1
        return Fragment({place: 1}, {place: 1})

    def _link(self, first: Fragment, second: Fragment) -> None:
        for (last, ways), (begin, more) in product(first.lasts.items(), second.firsts.items()):
            _add(self.following[last], {begin: ways * more})

    def _loop(self, part: Fragment) -> Fragment:
        self._link(part, part)
        return part

    def _sequence(self, nodes: Sequence[Node]) -> Fragment:
        whole = Fragment({}, {}, 1)
        for code, value in nodes:
            whole = self._joined(whole, self._part(code, value))
        return whole

    def _joined(self, first: Fragment, second: Fragment) -> Fragment:
        self._link(first, second)
        firsts, lasts = dict(first.firsts), dict(second.lasts)
        _add(firsts, second.firsts, first.empty)
        _add(lasts, first.lasts, second.empty)
        return Fragment(firsts, lasts, min(2, first.empty * second.empty))

    def _part(self, code: Any, value: Any) -> Fragment:
        if code in (*_REPEATS, codes.POSSESSIVE_REPEAT):
            # A possessive repetition gives nothing back: one round stands for it.
            least, most = (value[0], value[1]) if code in _REPEATS else (min(1, value[0]), 1)
            return self._repeated(list(value[2]), least, most)
        if code is codes.AT:
            return self._anchor(value)
        if bodies := _bodies(code, value):
            return self._either([self._sequence(body) for body in bodies])
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            self.is_sure = False
            return Fragment({}, {}, 1)
        return self._position(self._taken(code, value))

    def _taken(self, code: Any, value: Any) -> frozenset[str]:
        if code is codes.LITERAL and not self.flags & re.IGNORECASE:
            return frozenset([chr(value)])
        # What a group has read may be anything.
        is_any = code is codes.GROUPREF
        texts = (text for text in self.sample if len(text) == 1)
        return frozenset(text for text in texts if is_any or self._takes((code, value), text))

    def _either(self, parts: list[Fragment]) -> Fragment:
        firsts, lasts = Ways(), Ways()
        for part in parts:
            _add(firsts, part.firsts)
            _add(lasts, part.lasts)
        return Fragment(firsts, lasts, min(2, sum(part.empty for part in parts)))

    def _anchor(self, value: Any) -> Fragment:
        is_line = self.flags & re.MULTILINE
        if value is codes.AT_BEGINNING_STRING or (value is codes.AT_BEGINNING and not is_line):
            return self._position(frozenset([_START]))
        if value is codes.AT_END_STRING or (value is codes.AT_END and not is_line):
            return self._position(frozenset([_END]))
        self.is_sure = False
        return Fragment({}, {}, 1)

    def _repeated(self, body: list[Node], least: int, most: int) -> Fragment:
        if most >= _MANY or most * _choices(body) >= _MANY:
            part = self._loop(self._sequence(body))
            self.few |= set(product(part.lasts, part.firsts)) if most <= _FEW else set()
            # Nothing is read by no round, and by a round that reads nothing.
            return Fragment(part.firsts, part.lasts, min(2, 2 * part.empty if least else 1 + part.empty))
        whole = Fragment({}, {}, 1)
        for number in range(min(most, _COPIES)):
            part = self._sequence(body)
            if number >= least:
                part.empty = min(2, 1 + part.empty)
            whole = self._joined(whole, part)
        return whole

    def _takes(self, node: Node, text: str) -> bool:
        cases = {text, text.lower(), text.upper()} if self.flags & re.IGNORECASE else {text}
        return any(_takes(node, case) for case in cases)

    def degree(self) -> float:
        if any(self._doubles(loop) for loop in _loops(self.following)):
            return math.inf
        return 1 if self.never_fails else self._power()

    def _doubles(self, loop: frozenset[int]) -> bool:
        """Tells whether a text leads round the loop in two ways."""
        if any(
            self.following[place].get(other, 0) > 1 for place in loop for other in self.following[place].keys() & loop
        ):
            return True
        # Positions that the same ones follow are one: the ends of a hundred alternatives.
        after = {place: frozenset(self.following[place].keys() & loop) for place in loop}
        seen, left = set[tuple[frozenset[int], frozenset[int]]](), list[tuple[frozenset[int], frozenset[int]]]()
        for nexts in set(after.values()):
            left += self._apart(after, combinations(nexts, 2), seen)
        while left:
            first, second = left.pop()
            if any(self.taken[place] for place in first & second):
                return True
            left += self._apart(after, product(first, second), seen)
        return False

    def _apart(
        self, after: dict[int, frozenset[int]], pairs: Iterable[tuple[int, int]], seen: set[Any]
    ) -> list[tuple[frozenset[int], frozenset[int]]]:
        """What may follow each pair of positions that take one character, where it has not been seen yet."""
        found = list[tuple[frozenset[int], frozenset[int]]]()
        for each, other in pairs:
            if not self.taken[each].isdisjoint(self.taken[other]):
                pair = after[each], after[other]
                if pair not in seen:
                    seen |= {pair, pair[::-1]}
                    found.append(pair)
        return found

    def _taken_by(self, places: frozenset[int]) -> frozenset[str]:
        return frozenset().union(*(self.taken[place] for place in places))

    def _in_common(self, *places: int) -> frozenset[str]:
        return frozenset.intersection(*(self.taken[place] for place in places))

    def _power(self) -> int:
        """Longest row of loops of which each and the next read one text, where a match may still fail."""
        sure = self._sure()
        loops = [loop for loop in _loops(self.lasting) if not loop <= sure]
        steps = iter(range(_MOST_STEPS))
        longest = dict.fromkeys(loops, 1)
        # Positions are numbered in the order of the pattern: what a loop leads to has greater numbers.
        for number in range(len(loops) - 1, -1, -1):
            for later in loops[number + 1 :]:
                if longest[later] >= longest[loops[number]] and self._share(loops[number], later, steps):
                    longest[loops[number]] = longest[later] + 1
        return max(longest.values(), default=1)

    def _sure(self) -> set[int]:
        """Positions from which a match cannot fail any more: the last ones, and loops that lead there by any text."""
        sure = set(self.lasts)
        while True:
            more = {
                place
                for place, ways in enumerate(self.following)
                if place in ways
                and any(other in sure and self.taken[place] <= self.taken[other] for other in ways if other != place)
            }
            if more <= sure:
                return sure
            sure |= more

    def _share(self, first: frozenset[int], second: frozenset[int], steps: Iterator[int]) -> bool:
        """Tells whether some text leads round the first loop, round the second, and from the first to the second."""
        common = self._taken_by(first) & self._taken_by(second)
        on_the_way = [
            {} if common.isdisjoint(taken) else ways for taken, ways in zip(self.taken, self.following, strict=True)
        ]
        known = set[int]()
        if second.isdisjoint(place for start in first for place in _walked(on_the_way, start, known)):
            return False
        for start, end in product(first, second):
            seen, left = {(start, start, end)}, [(start, start, end)]
            while left:
                before, between, after = left.pop()
                round_first, round_second = self.lasting[before].keys() & first, self.lasting[after].keys() & second
                for found in product(round_first, self.following[between], round_second):
                    if next(steps, None) is None:
                        return False
                    if found in seen or not self._in_common(*found):
                        continue
                    if found == (start, end, end):
                        return True
                    seen.add(found)
                    left.append(found)
        return False


def _loops(following: list[Ways]) -> list[frozenset[int]]:
    """Sets of positions that lead to each other, in the order of the pattern (Kosaraju's way to find them)."""
    preceding: list[Ways] = [{} for _ in following]
    for place, ways in enumerate(following):
        for other in ways:
            preceding[other][place] = 1
    known, left_at = set[int](), list[int]()
    for place in range(len(following)):
        left_at += _walked(following, place, known)
    known = set()
    found = [frozenset(_walked(preceding, place, known)) for place in reversed(left_at)]
    return sorted(
        (loop for loop in found if len(loop) > 1 or any(place in following[place] for place in loop)), key=min
    )


def _walked(following: list[Ways], start: int, known: set[int]) -> list[int]:
    """Positions that are reached and not known yet, each behind those that it leads to."""
    done, path = list[int](), [(start, iter(following[start]))] if start not in known else []
    known.add(start)
    while path:
        place, others = path[-1]
        new = next((other for other in others if other not in known), None)
        if new is None:
            done.append(place)
            path.pop()
        else:
            known.add(new)
            path.append((new, iter(following[new])))
    return done


def _add(ways: Ways, more: Ways, times: int = 1) -> None:
    for place, count in more.items():
        if times:
            ways[place] = min(2, ways.get(place, 0) + count * times)


def _choices(nodes: list[Node]) -> float:
    """Decisions between two that reading the nodes once may take, but for those of repetitions without end."""
    found = 0.0
    for code, value in nodes:
        inside = max(map(_choices, _bodies(code, value)), default=0)
        if code in _REPEATS and value[1] <= _FEW:
            inside = value[1] * inside + math.log2(value[1] - value[0] + 1)
        if code is codes.BRANCH:
            inside += math.log2(len(value[1]))
        found += inside
    return found


def _takes(node: Node, text: str) -> bool:
    code, value = node
    if code is codes.IN:
        is_negated = value[0][0] is codes.NEGATE
        return is_negated is not any(_takes(part, text) for part in value[is_negated:])
    if code is codes.RANGE:
        return bool(value[0] <= ord(text) <= value[1])
    if code is codes.CATEGORY:
        return _CATEGORIES[str(value)].match(text) is not None
    return (code is codes.ANY and text != "\n") or (
        code in _LITERALS and (ord(text) == value) is (code is codes.LITERAL)
    )


_LITERALS = (codes.LITERAL, codes.NOT_LITERAL)
_CATEGORIES = {
    "CATEGORY_DIGIT": re.compile(r"\d"),
    "CATEGORY_NOT_DIGIT": re.compile(r"\D"),
    "CATEGORY_SPACE": re.compile(r"\s"),
    "CATEGORY_NOT_SPACE": re.compile(r"\S"),
    "CATEGORY_WORD": re.compile(r"\w"),
    "CATEGORY_NOT_WORD": re.compile(r"\W"),
}
