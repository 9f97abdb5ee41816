"""What administrators may change, by rules that need no account."""

import pytest

from domain.errors import Conflict
from domain.identity.administration import ensure_keeps_name, shipped_name
from domain.identity.users import ADMIN, MEMBER, Role, shipped_role_id


def test_a_shipped_role_that_was_renamed_gets_its_name_back() -> None:
    renamed = Role(id=shipped_role_id(ADMIN), tenant_id=None, name="Boss")
    assert shipped_name(renamed) == ADMIN
    ensure_keeps_name(renamed, "Boss")
    ensure_keeps_name(renamed, ADMIN)
    with pytest.raises(Conflict) as refusal:
        ensure_keeps_name(renamed, "Chief")
    assert [field.field for field in refusal.value.fields] == ["name"]


def test_other_roles_are_called_anything() -> None:
    made = Role(id=shipped_role_id("Editor"), tenant_id=None, name="Editor")
    assert shipped_name(made) is None
    ensure_keeps_name(made, MEMBER)
