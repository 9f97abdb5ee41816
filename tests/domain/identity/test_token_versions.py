"""Token versions: revoked and stale tokens."""

from uuid import UUID

import pytest

from domain.errors import TokenExpired, TokenInvalid, Unauthorized
from domain.identity.token_versions import (
    at_issue,
    ensure_alive,
    grants_subject,
    role_subject,
    session_subject,
    tenant_subject,
    user_subject,
)

ID = UUID(int=1)
ISSUED = {
    user_subject(ID): 2,
    session_subject(ID): 0,
    grants_subject(ID): 1,
    tenant_subject(ID): 0,
    role_subject(ID): 3,
}


def test_each_kind_of_subject_has_a_name_of_its_own() -> None:
    assert len(ISSUED) == 5


def test_a_token_lives_while_nothing_has_risen() -> None:
    ensure_alive(ISSUED, ISSUED)
    ensure_alive(ISSUED, {})
    ensure_alive({}, {user_subject(ID): 9})


def test_a_lower_count_than_at_issue_kills_nothing() -> None:
    ensure_alive(ISSUED, {user_subject(ID): 1})


@pytest.mark.parametrize(
    ("subject", "error"),
    [
        (user_subject(ID), TokenInvalid),
        (session_subject(ID), TokenInvalid),
        (grants_subject(ID), TokenExpired),
        (tenant_subject(ID), TokenExpired),
        (role_subject(ID), TokenExpired),
    ],
)
def test_what_has_risen_kills(subject: str, error: type[Unauthorized]) -> None:
    with pytest.raises(error):
        ensure_alive(ISSUED, ISSUED | {subject: ISSUED[subject] + 1})


def test_revoked_beats_stale() -> None:
    with pytest.raises(TokenInvalid):
        ensure_alive(ISSUED, {subject: count + 1 for subject, count in ISSUED.items()})


def test_a_new_token_writes_down_what_was_never_raised_as_zero() -> None:
    assert at_issue(["a", "b"], {"b": 3, "c": 1}) == {"a": 0, "b": 3}
