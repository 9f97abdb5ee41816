"""Parts of the service, and the lists that are made of them."""

from collections import Counter

from domain.parts.composition import AREAS, AUDIT_ACTIONS, OWN_PERMISSIONS, PARTS
from domain.scope import is_permission


def test_each_audit_action_permission_and_area_is_in_one_part() -> None:
    for names in (
        [action for part in PARTS for action in part.audit_actions],
        [permission.name for permission in OWN_PERMISSIONS],
        [area.name for area in AREAS],
    ):
        assert [name for name, count in Counter(names).items() if count > 1] == []


def test_permissions_are_well_formed() -> None:
    assert [permission.name for permission in OWN_PERMISSIONS if not is_permission(permission.name)] == []


def test_each_audit_action_has_a_meaning_that_is_a_sentence() -> None:
    assert [action for action, meaning in AUDIT_ACTIONS.items() if not meaning.endswith(".")] == []
