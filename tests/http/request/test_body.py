"""Hostile bodies and queries: each is refused with a sentence, none with a crash.

Bodies that may be left out, because each of their fields may be.

Two readers of JSON, a quick one and a strict one: what the quick one takes, the strict one reads alike.
"""

import gzip
import json
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adapters.http import strict_reading
from adapters.http.strict_reading import DEPTH, read_json, read_strictly
from domain.errors import BadRequest
from tests.http.app import TestApp
from tests.http.identity.factors.factors import Person

JSON = "application/json"
GOOD = b'{"name": "Lamp", "sku": "LAMP-1", "price": 19.99}'


def with_price(number: str) -> bytes:
    return b'{"name": "Lamp", "sku": "LAMP-1", "price": ' + number.encode() + b"}"


BAD_REQUESTS = {
    "empty": b"",
    "not JSON": b"name=Lamp",
    "cut off": b'{"name": "La',
    "two values": b"{} {}",
    "a list": b"[]",
    "a string": b'"x"',
    "null": b"null",
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "not UTF-8": b'{"name": "\xff"}',
    "UTF-16": '{"name": "x"}'.encode("utf-16"),
    "duplicate key": b'{"name": "a", "name": "b"}',
    "duplicate key deep inside": b'{"name": {"a": 1, "a": 1}}',
    "NaN": with_price("NaN"),
    "Infinity": with_price("-Infinity"),
    "NUL escaped": b'{"name": "a\\u0000b"}',
    "NUL raw": b'{"name": "a\x00b"}',
    "NUL in a key": b'{"a\\u0000": 1}',
    "half a surrogate": b'{"name": "\\ud83d"}',
    "33 lists deep": b'{"name": ' + b"[" * 32 + b"]" * 32 + b"}",
    "a hundred thousand lists": b"[" * 100_000,
    "a hundred thousand objects": b'{"a":' * 100_000,
    "an exponent past all reason": with_price("1e99999999999999999999"),
    "leading zero": with_price("01"),
    "a comment": b"{/* */}",
    "trailing comma": b'{"name": "a",}',
    "single quotes": b"{'name': 'a'}",
}

WRONG_FIELDS = {
    "32 deep": (b'{"name": ' + b"[" * 31 + b"]" * 31 + b', "sku": "A-1", "price": 1}', "name"),
    "a huge integer": (with_price("9" * 5_000), "price"),
    "a huge exponent": (with_price("1e999999999"), "price"),
    "a tiny exponent": (with_price("1e-999999999"), "price"),
    "three decimals": (with_price("1.001"), "price"),
    "NaN as text": (with_price('"NaN"'), "price"),
    "Infinity as text": (with_price('"Infinity"'), "price"),
    "true": (with_price("true"), "price"),
    "stock past 64 bits": (b'{"name": "a", "sku": "A-1", "price": 1, "stock": 18446744073709551616}', "stock"),
    "stock past 32 bits": (b'{"name": "a", "sku": "A-1", "price": 1, "stock": 2147483648}', "stock"),
    "stock as a fraction": (b'{"name": "a", "sku": "A-1", "price": 1, "stock": 1.5}', "stock"),
    "an unknown field": (b'{"name": "a", "sku": "A-1", "prize": 1, "price": 1}', "prize"),
}


@pytest.mark.promise("entities, details: BAD_REQUEST: not JSON, not an object, undecodable cursor")
@pytest.mark.parametrize("body", BAD_REQUESTS.values(), ids=BAD_REQUESTS.keys())
async def test_a_body_that_is_not_a_json_object_is_a_bad_request_in_area_b(app: TestApp, body: bytes) -> None:
    answer = await app.call("POST", "/api/products", as_whom="acme", content=body, headers={"Content-Type": JSON})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


@pytest.mark.promise("identity, errors: VALIDATION_ERROR 400")
@pytest.mark.promise(
    "identity, every response: Bodies over 16 kB, depth, duplicate keys, NUL, bad UTF-8, other content types"
)
@pytest.mark.parametrize("body", BAD_REQUESTS.values(), ids=BAD_REQUESTS.keys())
async def test_a_body_that_is_not_a_json_object_is_a_validation_error_in_area_a(app: TestApp, body: bytes) -> None:
    answer = await app.call("POST", "/api/auth/login", content=body[:16_000], headers={"Content-Type": JSON})
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "VALIDATION_ERROR")


@pytest.mark.promise("identity, fields: the error envelope, with every failing field")
@pytest.mark.parametrize(("body", "field"), WRONG_FIELDS.values(), ids=WRONG_FIELDS.keys())
async def test_a_value_that_its_field_refuses_is_named(app: TestApp, body: bytes, field: str) -> None:
    answer = await app.call("POST", "/api/products", as_whom="acme", content=body, headers={"Content-Type": JSON})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "VALIDATION_ERROR")
    assert field in {detail["field"] for detail in error["details"]}


@pytest.mark.promise("entities, contract: each write validates the body: VALIDATION_ERROR with details")
async def test_every_failing_field_is_named_at_once(app: TestApp) -> None:
    body = {"sku": "lower case", "price": -1, "stock": "many", "colour": "red"}
    answer = await app.call("POST", "/api/products", as_whom="acme", json=body)
    fields = {detail["field"] for detail in answer.json()["error"]["details"]}
    assert fields == {"name", "sku", "price", "stock", "colour"}


@pytest.mark.promise(
    "identity, errors: METHOD_NOT_ALLOWED 405, PAYLOAD_TOO_LARGE 413, UNSUPPORTED_MEDIA_TYPE 415, PRECONDITION_FAILED "
    "412, SERVICE_UNAVAILABLE 503, BAD_REQUEST 400, UNPROCESSABLE_ENTITY 422"
)
@pytest.mark.promise(
    "identity, every response: Bodies over 16 kB, depth, duplicate keys, NUL, bad UTF-8, other content types"
)
@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 201),
        ("application/json; charset=utf-8", 201),
        ("Application/JSON;charset=UTF-8", 201),
        ("application/json; charset=latin-1", 415),
        ("application/merge-patch+json", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("", 415),
    ],
)
async def test_only_json_is_taken(app: TestApp, content_type: str, status: int) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    answer = await app.call("POST", "/api/products", as_whom="acme", content=GOOD, headers=headers)
    assert answer.status_code == status


@pytest.mark.parametrize(("coding", "status"), [("gzip", 415), ("br", 415), ("Identity", 201), ("", 201)])
async def test_a_coded_body_is_refused_as_such(app: TestApp, coding: str, status: int) -> None:
    body = gzip.compress(GOOD) if status == 415 else GOOD
    headers = {"Content-Type": "application/json", "Content-Encoding": coding}
    answer = await app.call("POST", "/api/products", as_whom="acme", content=body, headers=headers)
    assert answer.status_code == status


@pytest.mark.promise(
    "identity, errors: METHOD_NOT_ALLOWED 405, PAYLOAD_TOO_LARGE 413, UNSUPPORTED_MEDIA_TYPE 415, PRECONDITION_FAILED "
    "412, SERVICE_UNAVAILABLE 503, BAD_REQUEST 400, UNPROCESSABLE_ENTITY 422"
)
@pytest.mark.promise(
    "identity, every response: Bodies over 16 kB, depth, duplicate keys, NUL, bad UTF-8, other content types"
)
@pytest.mark.parametrize(
    ("path", "size", "status"),
    [
        ("/api/products", 1024 * 1024, 400),
        ("/api/products", 1024 * 1024 + 1, 413),
        ("/api/auth/login", 16 * 1024, 400),
        ("/api/auth/login", 16 * 1024 + 1, 413),
        ("/api/users", 16 * 1024 + 1, 413),
    ],
)
@pytest.mark.parametrize("is_streamed", [False, True], ids=["declared", "streamed"])
async def test_bodies_have_a_largest_size(app: TestApp, path: str, size: int, status: int, is_streamed: bool) -> None:
    body = b" " * size

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, size, 1000):
            yield body[start : start + 1000]

    content = pieces() if is_streamed else body
    answer = await app.call("POST", path, as_whom="acme", content=content, headers={"Content-Type": JSON})
    assert answer.status_code == status
    assert "X-RateLimit-Limit" in answer.headers


@pytest.mark.promise("entities, details: Decimals travel with their scale and are never rounded")
async def test_exact_decimals_arrive_as_they_were_sent(app: TestApp) -> None:
    body = with_price("1234567890.12")
    answer = await app.call("POST", "/api/products", as_whom="acme", content=body, headers={"Content-Type": JSON})
    assert '"price":1234567890.12,' in answer.text


async def test_numbers_in_custom_settings_stay_numbers(app: TestApp) -> None:
    custom = {"ratio": 1.5, "count": 3, "deep": [{"huge": 2**63 - 1}]}
    body = {"name": "Numbers", "identifier": "numbers", "settings": {"customSettings": custom}}
    answer = await app.call("POST", "/api/tenants", as_whom="root", json=body)
    settings = json.loads(answer.text)["data"]["settings"]["customSettings"]
    assert settings == {"ratio": 1.5, "count": 3, "deep": [{"huge": 2**63 - 1}]}
    body["settings"] = {"customSettings": {"deep": [10**25]}}
    answer = await app.call("POST", "/api/tenants", as_whom="root", json=body)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("query", ["search=%FF", "search=a%00b", "&".join(f"a{n}=1" for n in range(300)), "%00=1"])
async def test_a_query_that_is_not_valid_text_is_refused(app: TestApp, query: str) -> None:
    answer = await app.call("GET", f"/api/products?{query}", as_whom="acme")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "BAD_REQUEST")


@pytest.mark.promise("declarations, values: a UUID has one spelling in body, path, filter and file")
@pytest.mark.promise("identity, errors: NOT_FOUND 404")
@pytest.mark.parametrize("row_id", ["1", "x", "%00", "01900000000070008000000000000000", "{01900000}", "a" * 5000, "é"])
async def test_malformed_ids_are_ids_of_nothing(app: TestApp, row_id: str) -> None:
    answer = await app.call("GET", f"/api/products/{row_id}", as_whom="acme")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "NOT_FOUND")


NOBODY = "00000000-0000-7000-8000-000000000001"

MAY_BE_LEFT_OUT = {
    "/api/auth/passkeys/begin": 200,
    "/api/auth/reauthenticate/passkey": 400,  # without a passkey
    "/api/auth/factors/passkeys/begin": 200,
    "/api/auth/factors/totp/begin": 200,
    "/api/auth/factors/recovery-codes": 409,  # without a factor
    "/api/join-requests/{userId}/approve": 404,
    "/api/service-accounts/{accountId}/keys/{keyId}/rotate": 404,
}
"""Paths of POST with the status for a person without factors, or for an administrator and ids of nobody."""


async def test_the_document_contains_the_optional_bodies(app: TestApp) -> None:
    document = (await app.call("GET", "/docs/v1/docs.json")).json()
    found = {
        path
        for path, operations in document["paths"].items()
        if not operations.get("post", {}).get("requestBody", {"required": True}).get("required", False)
    }
    assert found == set(MAY_BE_LEFT_OUT)


@pytest.mark.parametrize("path", MAY_BE_LEFT_OUT)
async def test_a_body_that_is_left_out_is_one_without_fields(app: TestApp, path: str) -> None:
    person = Person(app)
    await person.login()
    place = "/".join(NOBODY if part.startswith("{") else part for part in path.split("/"))
    name = "root" if "{" in path else person.name
    left_out = await app.call("POST", place, as_whom=name)
    assert left_out.status_code == MAY_BE_LEFT_OUT[path], left_out.text
    sent = await app.call("POST", place, as_whom=name, json={})
    assert sent.status_code == left_out.status_code, sent.text
    refused = await app.call("POST", place, as_whom=name, json={"more": 1})
    assert [wrong["field"] for wrong in refused.json()["errors"]] == ["more"], refused.text


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.text(max_size=6)
    | st.floats(allow_nan=False, allow_infinity=False)
)
NAMES = st.sampled_from(["a", "b", ":", "a:", '"', "é", "\u2028"])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=12
)
TEXTS = st.builds(
    lambda value, ascii_, gaps: json.dumps(value, ensure_ascii=ascii_, separators=gaps),
    VALUES,
    st.booleans(),
    st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :"), ("\n,", "\t:")]),
)


def read(text: str) -> object:
    try:
        return read_json(text.encode(), decimals=True)
    except BadRequest as error:
        return error.message


def read_by_the_strict_one(text: str) -> object:
    try:
        return read_strictly(text, decimals=True)
    except BadRequest as error:
        return error.message


def exactly(value: object) -> str:
    """1, 1.0 and True are equal, and not the same."""
    return repr(value)


@given(TEXTS)
@example("[1e400, -0, -0.0, 1E+2, 1.50, 123456789012345678, 1234567890123456789, -1234567890123456789]")
@example("1e99999999999999999999")
@example("1234567890123456789")
@example("null")
@example('{"a":1}\x00')
@example('["\x01"]')
@example("[01]")
@example("[1.]")
@example("[NaN]")
@example("[" * 40 + "]" * 40)
def test_both_read_the_same(text: str) -> None:
    assert exactly(read(text)) == exactly(read_by_the_strict_one(text))


@given(TEXTS, st.integers(0, 60), st.sampled_from([*'{}[]:,"\\ 0e-.a', "", '"a":1,', "\x00"]))
def test_both_refuse_the_same(text: str, app: int, put: str) -> None:
    broken = text[:app] + put + text[app + 1 :]
    assert exactly(read(broken)) == exactly(read_by_the_strict_one(broken))


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":1}',
        '{"a" :1,"a":1}',
        '{"a":{"b":1,"b":2}}',
        '[{"a":":","a":1}]',
        '{"a":1,"a":":","b":2}',
        '{"":1,"":1}',
    ],
)
def test_a_duplicate_name_in_a_json_object_is_refused(text: str) -> None:
    assert read(text) == "A JSON object contains a name twice."


def test_the_quick_reader_accepts_usual_bodies() -> None:
    assert strict_reading.read_quickly(b'{"a":[1.50,true]}', '{"a":[1.50,true]}') == {"a": [Decimal("1.50"), True]}


def test_numbers_stay_what_they_are() -> None:
    assert exactly(read("[1.10, 1, 1e2]")) == exactly([Decimal("1.10"), 1, Decimal("1E+2")])


def test_too_deeply_nested_json_is_refused() -> None:
    deepest = "[" * DEPTH + "]" * DEPTH
    assert isinstance(read(deepest), list)
    assert isinstance(read(f"[{deepest}]"), str)
