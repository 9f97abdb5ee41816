"""All stored data about a person, read in one statement and so in one snapshot."""

from dataclasses import dataclass

import msgspec

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.context import PostgresContext
from application.ports.identity.personal_data import EVENTS, PersonalData
from domain.identity.users import User

# $1 is the account, $2 the normal form of its address, $3 the number of events plus one to detect more.
_DATA = """
SELECT json_build_object(
'account', json_build_object(
    'id', u.id, 'email', u.email, 'fullName', u.full_name, 'phoneNumber', u.phone_number,
    'profilePictureUrl', u.profile_picture_url, 'emailConfirmed', u.email_confirmed, 'emailProved', u.email_proved,
    'emailProvedAt', u.email_proved_at, 'isActive', u.is_active, 'hasPassword', u.password_hash IS NOT NULL,
    'mustChangePassword', u.must_change_password, 'passwordSetAt', u.password_set_at, 'createdAt', u.created_at,
    'updatedAt', u.updated_at, 'lastLoginAt', u.last_login_at, 'systemRoles', ARRAY(
        SELECT r.name FROM user_roles ur JOIN roles r ON r.id = ur.role_id WHERE ur.user_id = u.id ORDER BY r.name)),
'memberships', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT m.tenant_id AS "tenantId", t.name AS "tenantName", m.is_default AS "isDefault", m.is_owner AS "isOwner",
        m.joined_at AS "joinedAt", ARRAY(
            SELECT r.name FROM membership_roles mr JOIN roles r ON r.id = mr.role_id
            WHERE mr.tenant_id = m.tenant_id AND mr.user_id = m.user_id ORDER BY r.name) AS roles
    FROM memberships m JOIN tenants t ON t.id = m.tenant_id WHERE m.user_id = u.id
    ORDER BY m.joined_at, m.tenant_id) x),
'sessions', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT id, tenant_id AS "tenantId", created_at AS "createdAt", rotated_at AS "rotatedAt", ended_at AS "endedAt",
        app_id AS "appId", address, device, methods, authenticated_at AS "authenticatedAt"
    FROM sessions WHERE user_id = u.id ORDER BY created_at, id) x),
'factors', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT id, kind, name, created_at AS "createdAt", last_used_at AS "lastUsedAt"
    FROM factors WHERE user_id = u.id ORDER BY created_at, id) x),
'recoveryCodes', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT used_at AS "usedAt" FROM recovery_codes WHERE user_id = u.id ORDER BY used_at NULLS LAST) x),
'identities', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT provider, subject, linked_at AS "linkedAt" FROM social_identities WHERE user_id = u.id
    ORDER BY linked_at, provider, subject) x),
'emailChanges', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT email, requested_at AS "requestedAt", expires_at AS "expiresAt"
    FROM email_changes WHERE user_id = u.id AND email <> '') x),
'links', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT purpose, email_key AS email, issued_at AS "issuedAt", expires_at AS "expiresAt", used_at AS "usedAt"
    FROM one_time_tokens WHERE user_id = u.id ORDER BY number) x),
'waitingMails', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT kind, recipient, address, about, language, at FROM outbox WHERE recipient IN (u.email, u.email_key)
    ORDER BY number) x),
'loginAttempts', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT network, failures, locked_until AS "lockedUntil", known_at AS "knownAt", tried_at AS "triedAt"
    FROM login_attempts WHERE email_key = $2 ORDER BY network) x),
'invitationsReceived', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT id, tenant_id AS "tenantId", status, created_at AS "createdAt", expires_at AS "expiresAt",
        ended_at AS "endedAt"
    FROM invitations WHERE email_key = $2 ORDER BY created_at, id) x),
'invitationsSent', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT id, tenant_id AS "tenantId", status, created_at AS "createdAt", expires_at AS "expiresAt",
        ended_at AS "endedAt"
    FROM invitations WHERE invited_by = u.id ORDER BY created_at, id) x),
'joinRequests', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT tenant_id AS "tenantId", domain, created_at AS "createdAt", status, ended_at AS "endedAt"
    FROM join_requests WHERE user_id = u.id ORDER BY created_at, tenant_id) x),
'domains', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT tenant_id AS "tenantId", domain, created_at AS "createdAt"
    FROM tenant_domains WHERE set_by = u.id ORDER BY created_at, domain) x),
'formerMemberships', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT tenant_id AS "tenantId" FROM former_members WHERE user_id = u.id ORDER BY tenant_id) x),
'serviceAccounts', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT id, tenant_id AS "tenantId", name, created_at AS "createdAt"
    FROM service_accounts WHERE created_by = u.id AND deleted_at IS NULL ORDER BY created_at, id) x),
'apiKeys', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT id, tenant_id AS "tenantId", name, created_at AS "createdAt"
    FROM api_keys WHERE created_by = u.id ORDER BY created_at, id) x),
'repeatedRequests', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT tenant_id AS "tenantId", key, at FROM kept_answers WHERE user_id = u.id ORDER BY at, key) x),
'events', (SELECT coalesce(json_agg(x), '[]') FROM (
    SELECT tenant_id AS "tenantId", actor_id AS "actorId", action, target_id AS "targetId",
        CASE WHEN actor_id = u.id THEN address END AS address, request_id AS "requestId", occurred_at AS "occurredAt"
    FROM audit_events WHERE actor_id = u.id OR target_id = u.id ORDER BY occurred_at DESC, id DESC LIMIT $3) x)
)::text
FROM users u WHERE u.id = $1"""

_decoder = msgspec.json.Decoder(PersonalData)


@dataclass(frozen=True, slots=True)
class PostgresPersonalRecords:
    connection: ServiceConnection

    async def of(self, user: User, events: int = EVENTS) -> PersonalData | None:
        text: str | None = await self.connection.fetchval(_DATA, user.id, user.email_key, events + 1)
        if text is None:
            return None
        data = _decoder.decode(text)
        return msgspec.structs.replace(data, events=data.events[:events], has_more_events=len(data.events) > events)


class PostgresSelfServicePorts(PostgresContext):
    __slots__ = ()

    @property
    def personal(self) -> PostgresPersonalRecords:
        return PostgresPersonalRecords(self.connection)
