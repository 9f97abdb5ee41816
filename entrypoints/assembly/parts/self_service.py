"""Use cases of users' own accounts on adapters."""

from adapters.http.identity.self_service.part import SelfServiceUseCases
from application.identity.self_service.account_deletion import AccountDeletion
from application.identity.self_service.email_changes import EmailChangeRequests
from application.identity.self_service.linked_identities import LinkedIdentities
from application.identity.self_service.my_sessions import MySessions
from application.identity.self_service.own_profile import OwnProfile
from application.identity.self_service.personal_export import PersonalExport
from application.identity.self_service.profiles import Profiles
from entrypoints.assembly.adapters import Adapters, lifetimes
from entrypoints.assembly.mail import link_secrets
from entrypoints.assembly.parts.shared import SharedObjects, recent_proof
from entrypoints.settings.settings import Settings


def assemble_self_service(adapters: Adapters, settings: Settings, shared: SharedObjects) -> SelfServiceUseCases:
    database, revocations, cache, clock = adapters.database, adapters.revocations, adapters.cache, adapters.clock
    return SelfServiceUseCases(
        my_sessions=MySessions(database, revocations, clock, lifetimes(settings), recent_proof(settings)),
        profiles=Profiles(database, cache, clock),
        own_profile=OwnProfile(database, cache, clock),
        account_deletion=AccountDeletion(database, shared.departures, revocations, cache, clock),
        email_changes=email_changes_of(adapters, settings),
        identities=LinkedIdentities(database, adapters.social, cache, clock, adapters.ids),
        personal_export=PersonalExport(database),
    )


def email_changes_of(adapters: Adapters, settings: Settings) -> EmailChangeRequests:
    return EmailChangeRequests(
        adapters.database, adapters.revocations, adapters.cache, link_secrets(settings), adapters.clock, adapters.ids
    )
