"""What administrators may change, by rules that need no account."""

import pytest

from domain.errors import Conflict, ValidationError
from domain.identity.administration import ensure_fits_beside, ensure_keeps_name, shipped_name
from domain.identity.tokens import ensure_fits_token
from domain.identity.users import ADMIN, MEMBER, Role, shipped_role_id
from tests.builders import role


@pytest.mark.promise("identity, administration: a role of the service keeps its name, and is not deleted")
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


def test_roles_fit_beside_others_by_what_they_hold_together() -> None:
    """Sizes are added up first, which is quick, and only what is too much then is looked at as a token carries it."""
    names = [f"read:{'x' * 58}{number:03}" for number in range(112)]
    own, same, rest = (role(None, permissions=tuple(held)) for held in (names[:60], names[:60], names[60:]))
    ensure_fits_beside(own, [(), (same,), (role(None),)], "permissions")
    for others in ((rest,), (same, rest)):
        with pytest.raises(ValidationError) as refusal:
            ensure_fits_beside(own, [(), others], "permissions")
        with pytest.raises(ValidationError) as alone:
            ensure_fits_token((own, *others), "permissions")
        assert refusal.value.fields == alone.value.fields
    everything = role(None, permissions=("*",))
    ensure_fits_beside(own, [(everything, rest)], "permissions")
