"""Use cases of users' own accounts that handlers call."""

from dataclasses import dataclass

from application.identity.self_service.account_deletion import AccountDeletion
from application.identity.self_service.email_changes import EmailChangeRequests
from application.identity.self_service.linked_identities import LinkedIdentities
from application.identity.self_service.my_sessions import MySessions
from application.identity.self_service.own_profile import OwnProfile
from application.identity.self_service.personal_export import PersonalExport
from application.identity.self_service.profiles import Profiles


@dataclass(frozen=True, kw_only=True)
class SelfServiceUseCases:
    my_sessions: MySessions
    profiles: Profiles
    own_profile: OwnProfile
    account_deletion: AccountDeletion
    email_changes: EmailChangeRequests
    identities: LinkedIdentities
    personal_export: PersonalExport
