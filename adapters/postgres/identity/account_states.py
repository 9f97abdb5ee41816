"""All that decides what a user may do, as one statement: one snapshot, written by the server as JSON."""

import msgspec
from msgspec import Raw

from domain.identity.users import AccountState, Membership, Role, User

_decoder = msgspec.json.Decoder(AccountState)


def decode(state: Raw) -> AccountState:
    return _decoder.decode(state)


def _camel(kind: type[msgspec.Struct], alias: str, *, but: tuple[str, ...] = ()) -> str:
    """The columns of ``alias`` by the JSON names of the struct's fields."""
    named = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return ", ".join(f'{alias}.{name} AS "{wire}"' for name, wire in named if name not in but)


def _rows(select: str, order: str) -> str:
    return f"(SELECT coalesce(json_agg(row_to_json(o) ORDER BY {order}), '[]') FROM ({select}) o)"


_ROLE = _camel(Role, "r")
_MEMBERSHIP_ROLES = _rows(
    f"""SELECT {_ROLE} FROM membership_roles h JOIN roles r ON r.id = h.role_id
        WHERE h.tenant_id = m.tenant_id AND h.user_id = m.user_id""",
    "o.name, o.id",
)
_MEMBERSHIP = _camel(Membership, "m", but=("tenant_name", "tenant_is_active", "roles"))
_MEMBERSHIPS = _rows(
    f"""SELECT {_MEMBERSHIP}, t.name AS "tenantName", t.is_active AS "tenantIsActive", {_MEMBERSHIP_ROLES} AS "roles"
        FROM memberships m JOIN tenants t ON t.id = m.tenant_id
        WHERE m.user_id = u.id AND t.deleted_at IS NULL""",
    'o."joinedAt", o."tenantId"',
)
_ROLES = _rows(
    f"SELECT {_ROLE} FROM user_roles h JOIN roles r ON r.id = h.role_id WHERE h.user_id = u.id", "o.name, o.id"
)
_SUBJECTS = """
SELECT unnest(ARRAY['user:' || u.id, 'grants:' || u.id])
UNION ALL SELECT 'tenant:' || m.tenant_id FROM memberships m WHERE m.user_id = u.id
UNION ALL SELECT 'role:' || h.role_id FROM membership_roles h WHERE h.user_id = u.id
UNION ALL SELECT 'role:' || h.role_id FROM user_roles h WHERE h.user_id = u.id"""
_COUNTS = f"""
(SELECT coalesce(json_object_agg(c.subject, c.count), '{{}}') FROM revocation_counts c
 WHERE c.subject = ANY (ARRAY({_SUBJECTS})))"""
_STANDING = f"""
SELECT row_to_json(s) FROM (
    SELECT (SELECT row_to_json(o) FROM (SELECT {_camel(User, "u")}) o) AS "user",
           {_MEMBERSHIPS} AS memberships, {_ROLES} AS roles, {_COUNTS} AS token_versions
    FROM users u WHERE """

BY_ID = f"{_STANDING}u.id = $1) s"
OF_SESSION = f"({_STANDING}u.id = sessions.user_id) s)"
BY_EMAIL = f"{_STANDING}u.email_key = $1) s"
