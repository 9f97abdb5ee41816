"""Use cases and controllers of users' own accounts."""

from dataclasses import dataclass

from adapters.http.identity.self_service.identities import IdentitiesController
from adapters.http.identity.self_service.own_account import OwnAccountController
from adapters.http.identity.self_service.sessions import SessionsController
from application.identity.self_service.account_deletion import AccountDeletion
from application.identity.self_service.email_changes import EmailChangeRequests
from application.identity.self_service.linked_identities import LinkedIdentities
from application.identity.self_service.my_sessions import MySessions
from application.identity.self_service.own_profile import OwnProfile
from application.identity.self_service.personal_export import PersonalExport
from application.identity.self_service.profiles import Profiles

CONTROLLERS = (
    SessionsController,
    OwnAccountController,
    IdentitiesController,
)


@dataclass(frozen=True, kw_only=True)
class SelfServiceUseCases:
    my_sessions: MySessions
    profiles: Profiles
    own_profile: OwnProfile
    account_deletion: AccountDeletion
    email_changes: EmailChangeRequests
    identities: LinkedIdentities
    personal_export: PersonalExport
