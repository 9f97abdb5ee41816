"""Token versions: revoked and stale tokens."""

from uuid import UUID

import pytest

from domain.errors import TokenExpired, TokenInvalid, Unauthorized
from domain.scope import (
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


def test_a_token_is_valid_while_no_version_has_risen() -> None:
    ensure_alive(ISSUED, ISSUED)
    ensure_alive(ISSUED, {})
    ensure_alive({}, {user_subject(ID): 9})


def test_a_version_lower_than_at_issue_revokes_nothing() -> None:
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
def test_a_risen_version_revokes_or_makes_stale(subject: str, error: type[Unauthorized]) -> None:
    with pytest.raises(error):
        ensure_alive(ISSUED, ISSUED | {subject: ISSUED[subject] + 1})


def test_revoked_beats_stale() -> None:
    with pytest.raises(TokenInvalid):
        ensure_alive(ISSUED, {subject: count + 1 for subject, count in ISSUED.items()})


def test_a_new_token_carries_zero_for_a_version_that_was_never_bumped() -> None:
    assert at_issue(["a", "b"], {"b": 3, "c": 1}) == {"a": 0, "b": 3}
