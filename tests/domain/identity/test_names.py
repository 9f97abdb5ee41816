"""Names and addresses that are shown to others: what they look like is what they are."""

import pytest

from domain.forms import text_errors, url_errors
from domain.identity.administration import role_name_errors
from domain.identity.identifiers import RESERVED_IDENTIFIERS, is_free_identifier, is_identifier


@pytest.mark.promise(
    "security, names: a role's name holds no invisible, full-width or mixed letters, and resembles no system role"
)
@pytest.mark.parametrize(
    "name",
    [
        "Admin\u200b",
        "Ad\u00admin",
        "\uff21\uff44\uff4d\uff49\uff4e",
        "\u0410dmin",
        "\u0410\u0501\u043c\u0456\u043f",
        "Adm\u00edn",
        "Adm1n",
        "Adrnin",
        "Ad min",
        "Super-Admin",
        "Mernber",
        "Clerk\u202e",
        "\ufb01nance",
    ],
)
def test_a_role_s_name_that_shows_as_another_one_is_refused(name: str) -> None:
    assert [error.field for error in role_name_errors("name", name)] == ["name"]


@pytest.mark.parametrize(
    "name",
    [
        "Clerk",
        "Clerk 2",
        "Administrator",
        "Buchhalter*in",
        "\u0411\u0443\u0445\u0433\u0430\u043b\u0442\u0435\u0440",
        "\u7d4c\u7406\u30c1\u30fc\u30e0",
        "Team \u0391\u03b8\u03ae\u03bd\u03b1",
        "Andr\u00e9",
        "admin",
        "Member",
    ],
)
def test_other_names_of_roles_are_taken(name: str) -> None:
    assert role_name_errors("name", name) == []


@pytest.mark.promise("security, names: New tenants get no identifier that speaks for the service or ends in a hyphen")
@pytest.mark.parametrize("identifier", ["-acme", "acme-", "--", "xn--a", "ab--c", *sorted(RESERVED_IDENTIFIERS)])
def test_an_identifier_that_speaks_for_the_service_or_ends_in_a_hyphen_is_not_free(identifier: str) -> None:
    assert is_identifier(identifier)
    assert not is_free_identifier(identifier)


@pytest.mark.parametrize(
    "identifier", ["acme", "a-b", "42", "api-users", "x" * 63, "newest", "current-account", "abc--d"]
)
def test_other_identifiers_are_free(identifier: str) -> None:
    assert is_free_identifier(identifier)


@pytest.mark.promise("security, names: names hold no control characters and no marks of writing direction")
@pytest.mark.parametrize("name", ["Ada\nByron", "Ada\x00", "Ada\u202enoryB", "\u2066Ada", "A\u2028B", "\x1b[31mAda"])
def test_a_name_holds_no_control_characters_and_no_marks_of_direction(name: str) -> None:
    assert [error.field for error in text_errors("fullName", name, 1, 200)] == ["fullName"]


@pytest.mark.parametrize(
    "name",
    [
        " ",
        "\u00a0\u2003",
        "\u200b\u200d",
        "\ufeff ",
        "\u3164",
        "\u115f\u1160",
        "\uffa0 ",
        "\u2800",
        "\u034f\ufe0f",
        "\U0001d159",
    ],
)
def test_a_name_shows_something_where_one_is_required(name: str) -> None:
    assert [error.field for error in text_errors("fullName", name, 1, 200)] == ["fullName"]
    assert text_errors("phoneNumber", name, 0, 50) == []


@pytest.mark.parametrize(
    "name", ["Ada Byron", "Zo\u00eb", "\u05d3\u05e0\u05d4", "\U0001f469\u200d\U0001f4bb", "\u0646\u200c\u0645"]
)
def test_names_of_any_script_are_taken(name: str) -> None:
    assert text_errors("fullName", name, 1, 200) == []


@pytest.mark.promise("security, names: profilePictureUrl is an address of the web")
@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "data:text/html,x", "//evil.example/x", "x", "https://", "https:// a", "ftp://a/b"]
)
def test_a_picture_is_an_address_of_the_web(url: str) -> None:
    assert [error.field for error in url_errors("profilePictureUrl", url, 500)] == ["profilePictureUrl"]


@pytest.mark.parametrize("url", [None, "", "https://example.com/a.png?x=1#y", "HTTP://localhost:8000/a"])
def test_addresses_of_the_web_are_taken(url: str | None) -> None:
    assert url_errors("profilePictureUrl", url, 500) == []
