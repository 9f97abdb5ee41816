"""Account state: all data that determines a user's rights, read in one statement and so in one snapshot.

PostgreSQL writes the state as JSON, and msgspec decodes it directly into the domain's structs. A test compares the
statement's JSON names with the structs' fields.
"""

import msgspec
from msgspec import Raw

from domain.identity.tokens import Session
from domain.identity.users import AccountState

# One text for three lookups: by user id ($1), address key ($2) or session id ($3); the other two are null. coalesce()
# reduces them to one primary key lookup. Read roles through memberships, because the primary key of membership_roles
# begins with the tenant. Join the subjects: PostgreSQL may compare an array with each row of the table, and an account
# in 5,000 tenants has 5,000 subjects.
ACCOUNT_STATE = """
SELECT row_to_json(state) AS state, (
    SELECT row_to_json(o) FROM (
        SELECT s.id, s.user_id, s.tenant_id, s.counter, s.created_at, s.rotated_at, s.ended_at, s.app_id, s.address,
            s.device, s.methods, s.authenticated_at, s.is_first_login
        FROM sessions s WHERE s.id = $3) o) AS session
FROM (
    SELECT (
        SELECT row_to_json(o) FROM (
            SELECT u.id, u.email, u.email_key AS "emailKey", u.full_name AS "fullName",
                u.phone_number AS "phoneNumber", u.profile_picture_url AS "profilePictureUrl",
                u.password_hash AS "passwordHash", u.email_confirmed AS "emailConfirmed",
                u.email_proved AS "emailProved", u.is_active AS "isActive",
                u.must_change_password AS "mustChangePassword", u.password_set_at AS "passwordSetAt",
                u.created_at AS "createdAt", u.updated_at AS "updatedAt", u.last_login_at AS "lastLoginAt",
                u.email_proved_at AS "emailProvedAt") o
    ) AS user, (
        SELECT coalesce(json_agg(row_to_json(o) ORDER BY o."joinedAt", o."tenantId"), '[]') FROM (
            SELECT m.tenant_id AS "tenantId", t.name AS "tenantName",
                t.identifier AS "tenantIdentifier", t.is_active AS "tenantIsActive",
                m.is_default AS "isDefault", m.is_owner AS "isOwner", m.joined_at AS "joinedAt",
                m.sessions_ended_at AS "sessionsEndedAt",
                t.settings -> 'security' AS security, (
                    SELECT coalesce(json_agg(row_to_json(o) ORDER BY o.name, o.id), '[]') FROM (
                        SELECT r.id, r.tenant_id AS "tenantId", r.name, r.description, r.permissions
                        FROM membership_roles h JOIN roles r ON r.id = h.role_id
                        WHERE h.tenant_id = m.tenant_id AND h.user_id = m.user_id) o) AS roles
            FROM memberships m JOIN tenants t ON t.id = m.tenant_id
            WHERE m.user_id = u.id AND t.deleted_at IS NULL) o
    ) AS memberships, (
        SELECT coalesce(json_agg(row_to_json(o) ORDER BY o.name, o.id), '[]') FROM (
            SELECT r.id, r.tenant_id AS "tenantId", r.name, r.description, r.permissions
            FROM user_roles h JOIN roles r ON r.id = h.role_id WHERE h.user_id = u.id) o
    ) AS roles, (
        SELECT coalesce(json_object_agg(c.subject, c.count), '{}') FROM (
            SELECT unnest(ARRAY['user:' || u.id, 'grants:' || u.id])
            UNION SELECT 'tenant:' || m.tenant_id FROM memberships m WHERE m.user_id = u.id
            UNION SELECT 'role:' || h.role_id FROM memberships m
            JOIN membership_roles h ON h.tenant_id = m.tenant_id AND h.user_id = m.user_id WHERE m.user_id = u.id
            UNION SELECT 'role:' || h.role_id FROM user_roles h WHERE h.user_id = u.id) s (subject)
        JOIN revocation_counts c ON c.subject = s.subject
    ) AS token_versions, (
        SELECT row_to_json(o) FROM (
            SELECT coalesce(bool_or(f.kind = 'totp'), false) AS totp,
                coalesce(bool_or(f.kind = 'passkey'), false) AS passkey,
                EXISTS (SELECT FROM recovery_codes c WHERE c.user_id = u.id AND c.used_at IS NULL) AS recovery
            FROM factors f WHERE f.user_id = u.id) o
    ) AS factors
    FROM users u
    WHERE u.id = coalesce(
        $1::uuid, (SELECT id FROM users WHERE email_key = $2), (SELECT user_id FROM sessions WHERE id = $3))
) state"""

_state_decoder = msgspec.json.Decoder(AccountState)
_session_decoder = msgspec.json.Decoder(Session)


def decode_state(text: Raw) -> AccountState:
    return _state_decoder.decode(text)


def decode_session(text: Raw) -> Session:
    return _session_decoder.decode(text)
