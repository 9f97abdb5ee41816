"""Texts and JSON that clumsy and hostile clients send."""

import json
from random import Random

IDS = ("01900000-0000-7000-8000-000000000000", "00000000-0000-0000-0000-000000000000")
LONG = 20_000

TEXTS = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\t\r\n",
    "\x7f\x1b[31m",
    "ünïcödé ẞ ﬁ ①",
    "\u202eabc\u200b\u2066",
    "👩‍👩‍👧‍👦" * 40,
    "\ud800",
    "İıſß",
    "'; DROP TABLE products; --",
    '"; $1 :name %(x)s {0} %s \\',
    "${jndi:ldap://localhost/a}",
    "../../../../etc/passwd",
    "%00%2e%2e%2f",
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "true",
    "null",
    "NaN",
    "Infinity",
    "-0",
    "0x10",
    "1_000",
    "1e999",
    "-1e-999",
    "9" * 400,
    "0." + "9" * 300,
    "٣",
    "0000-00-00",
    "9999-12-31T23:59:60Z",
    "2026-02-30",
    "2026-11-22T10:00:00+25:00",
    "-271821-04-20",
    "a,b,,c",
    "name:asc,name:desc",
    "[]",
    "{}",
    '{"$gt":""}',
    "eyJhbGciOiJub25lIn0.e30.",
    "eyJhbGciOiJSU0EtT0FFUC0yNTYiLCJlbmMiOiJBMjU2R0NNIn0.AA.AA.AA.AA",
    "*",
    "%",
    "_",
    "\\",
    *IDS,
)


def text(chance: Random) -> str:
    kind = chance.random()
    if kind < 0.75:
        return chance.choice(TEXTS)
    if kind < 0.95:
        letters = (chr(chance.choice((chance.randrange(128), chance.randrange(0x3000)))) for _ in range(12))
        return "".join(letters)
    return chance.choice("aé\x00%") * chance.choice((200, 1_000, LONG))


def number(chance: Random) -> str:
    return chance.choice(
        (
            "0", "-0", "-0.0", "1", "-1", "1.0", "1.5", "2147483648", "-2147483649", "9223372036854775808", "1e400",
            "-1e400", "1e-400", "1E+2", "9" * 50, "0." + "1" * 60, "12345678901234567890.12345678901234567890",
        )
    )  # fmt: skip


def json_value(chance: Random, depth: int = 0) -> str:
    """The text of a JSON value, sometimes of no JSON at all."""
    kind = chance.random()
    if kind < 0.3:
        return json.dumps(text(chance))
    if kind < 0.5:
        return number(chance)
    if kind < 0.65:
        return chance.choice(("null", "true", "false"))
    if kind < 0.75 or depth > 3:
        return chance.choice(
            ("NaN", "Infinity", "undefined", "'a'", "01", "+1", "\x00", '"\\ud800"', '"\\x"', '"a', "[,]")
        )
    if kind < 0.87:
        return "[" + ",".join(json_value(chance, depth + 1) for _ in range(chance.randrange(4))) + "]"
    pairs = (f"{json.dumps(text(chance)[:20])}:{json_value(chance, depth + 1)}" for _ in range(chance.randrange(4)))
    return "{" + ",".join(pairs) + "}"


def nested(chance: Random) -> str:
    depth = chance.choice((50, 500, 100_000))
    opening, closing = chance.choice((("[", "]"), ('{"a":', "}")))
    return opening * depth + "1" + closing * depth
