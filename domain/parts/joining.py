"""The ways into a tenant: invitations, domains, requests to join, tenants of one's own, and their ownership."""

from domain.parts.part import AdministrationArea, Part

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
)
