"""Joining a tenant: invitations, domains, requests, users' own tenants, and ownership."""

from datetime import timedelta

from domain.parts.part import AdministrationArea, Columns, Part
from domain.retention import RetentionRule

INVITATIONS = RetentionRule(name="invitations", when="90 days after their end", kept=timedelta(days=90))
JOIN_REQUESTS = RetentionRule(
    name="requests to join", when="90 days after their end, or after they were made", kept=timedelta(days=90)
)
# After this time, a former member is unlikely to receive mail at the address.
FORMER_ADDRESSES = RetentionRule(
    name="digests of former members' addresses",
    when="730 days after the end of the membership",
    kept=timedelta(days=730),
)

JOINING = Part(
    permissions=("create:invitations", "read:invitations", "delete:invitations"),
    audit_actions={
        "invitation.sent": "An invitation was sent.",
        "invitation.resent": "An invitation was sent again.",
        "invitation.revoked": "An invitation was withdrawn.",
        "invitation.accepted": "An invitation was accepted.",
        "invitation.declined": "An invitation was declined.",
        "domain.added:{domain}": "A tenant named a domain as its own, which is not proved yet.",
        "domain.changed:{domain}": "What a domain gives to people with an address there was changed.",
        "domain.verified:{domain}": "A tenant proved a domain by its DNS record.",
        "domain.lost:{domain}": "The proof of a domain was not found any more.",
        "domain.removed:{domain}": "A domain of a tenant was removed.",
        "membership.joined-by-domain": "Somebody with an address of a proved domain joined its tenant.",
        "join-request.made": "Somebody with such an address asked to join.",
        "join-request.approved": "A request to join was approved.",
        "join-request.declined": "A request to join was declined.",
        "owner.transferred": "An owner handed a tenant on.",
    },
    areas=(AdministrationArea("invitations", "read:invitations"),),
    retention=(
        INVITATIONS,
        JOIN_REQUESTS,
        FORMER_ADDRESSES,
    ),
    tables={
        "invitations": Columns(
            secret="hash",
            personal="email email_key",
            internal="tenant_id id role_ids invited_by created_at expires_at status ended_at accepted_by mailed_at",
        ),
        "tenant_domains": Columns(internal="tenant_id domain mode role_ids state proof set_by created_at checked_at"),
        "join_requests": Columns(internal="tenant_id user_id domain status created_at ended_at ended_by"),
        "former_members": Columns(internal="tenant_id user_id"),
        "former_addresses": Columns(personal="digest", internal="tenant_id marked_at"),
    },
)
