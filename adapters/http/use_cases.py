"""Use cases that handlers call, and the ports that they look at themselves."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from application.denied_operations import DeniedOperations
from application.entities.batches import Batches
from application.entities.cross_tenant_access import CrossTenantAccess
from application.entities.crud import Crud
from application.entities.descriptions import Descriptions
from application.entities.histories import Histories
from application.entities.transfers.exports import CallersExport
from application.entities.transfers.imports import FileImport
from application.freshness import Freshness
from application.identity.account.accounts import Accounts
from application.identity.account.registration import Registration
from application.identity.administration.held_permissions import HeldPermissions
from application.identity.administration.member_sessions import MemberSessions
from application.identity.administration.memberships import MembershipAdministration
from application.identity.administration.roles import RoleAdministration
from application.identity.administration.tenant_settings import TenantSettingsAdministration
from application.identity.administration.tenants import TenantAdministration
from application.identity.administration.users import UserAdministration
from application.identity.factors.forms import RelatedOrigins
from application.identity.factors.my_factors import MyFactors
from application.identity.factors.passkey_login import PasskeyLogin
from application.identity.factors.reauthentication import Reauthentication
from application.identity.factors.resets import FactorResets
from application.identity.factors.second_factor import SecondFactor
from application.identity.hosted_login.appearance import Appearances
from application.identity.hosted_login.login_codes import LoginCodes
from application.identity.hosted_login.targets import Targets
from application.identity.joining.acceptance import InvitationAcceptance
from application.identity.joining.domains import DomainAdministration
from application.identity.joining.invitations import InvitationAdministration
from application.identity.joining.join_requests import JoinRequestAdministration
from application.identity.joining.own_tenants import OwnTenants
from application.identity.joining.ownership import Ownership
from application.identity.joining.received import InvitationInbox
from application.identity.login.renewal import SessionRenewal
from application.identity.login.sign_in import SignIn
from application.identity.login.sign_out import SignOut
from application.identity.login.token_authentication import TokenAuthentication
from application.identity.self_service.account_deletion import AccountDeletion
from application.identity.self_service.email_changes import EmailChangeRequests
from application.identity.self_service.linked_identities import LinkedIdentities
from application.identity.self_service.my_sessions import MySessions
from application.identity.self_service.own_profile import OwnProfile
from application.identity.self_service.personal_export import PersonalExport
from application.identity.self_service.profiles import Profiles
from application.identity.service_accounts.administration import ServiceAccountAdministration
from application.identity.service_accounts.client_credentials import ClientCredentials
from application.identity.service_accounts.key_authentication import KeyAuthentication
from application.identity.service_accounts.keys import KeyAdministration
from application.identity.social.social_redirect import SocialRedirect
from application.identity.social.social_sign_in import SocialSignIn
from application.operations.monitoring import Monitoring
from application.operations.system_reports import SystemReports
from application.ports.identity.sessions import Tokens
from application.ports.identity.signing_keys import Keyring
from application.ports.runtime import Clock
from application.ports.shared_memory import Admissions
from application.ports.whole_database import WholeDatabase
from application.throttle import Throttle
from domain.entities.declaration import Registry
from domain.errors import Error
from domain.scope import OneTenant


class TenantSessions(Protocol):
    """Source of SQLAlchemy sessions for handlers of a user's own; ``errors`` are the classes that leave a session."""

    @property
    def errors(self) -> Sequence[type[Exception]]: ...

    def session(self, scope: OneTenant) -> AbstractAsyncContextManager[Any]:
        """A session that shows the rows of one tenant, and is rolled back and closed when it is left."""
        ...

    def domain_error(self, error: Exception) -> Error | None:
        """Error that one of ``errors`` stands for; None for one that is a programmer's."""
        ...


@dataclass(frozen=True, kw_only=True)
class IdentityUseCases:
    """Use cases that handlers of identity take as arguments of these names."""

    sign_in: SignIn
    sign_out: SignOut
    renewal: SessionRenewal
    reauthentication: Reauthentication
    second_factor: SecondFactor
    passkey_login: PasskeyLogin
    my_factors: MyFactors
    factor_resets: FactorResets
    login_codes: LoginCodes
    social_sign_in: SocialSignIn
    registration: Registration
    accounts: Accounts
    my_sessions: MySessions
    member_sessions: MemberSessions
    users: UserAdministration
    held_permissions: HeldPermissions
    roles: RoleAdministration
    tenants: TenantAdministration
    tenant_settings: TenantSettingsAdministration
    memberships: MembershipAdministration
    service_accounts: ServiceAccountAdministration
    api_keys: KeyAdministration
    client_credentials: ClientCredentials
    invitations: InvitationAdministration
    acceptance: InvitationAcceptance
    inbox: InvitationInbox
    domains: DomainAdministration
    join_requests: JoinRequestAdministration
    ownership: Ownership
    own_tenants: OwnTenants
    account_deletion: AccountDeletion
    email_changes: EmailChangeRequests
    identities: LinkedIdentities
    personal_export: PersonalExport
    keyring: Keyring


@dataclass(frozen=True, kw_only=True)
class UseCases(IdentityUseCases):
    """All use cases and ports that handlers use; filled in by ``entrypoints.assembly.use_cases``."""

    related_origins: RelatedOrigins
    targets: Targets
    appearances: Appearances
    social_redirect: SocialRedirect
    profiles: Profiles
    own_profile: OwnProfile
    key_authentication: KeyAuthentication
    descriptions: Descriptions
    crud: Crud
    batches: Batches
    histories: Histories
    exporting: CallersExport
    importing: FileImport
    cross_tenant_access: CrossTenantAccess
    denied_operations: DeniedOperations
    system_reports: SystemReports
    throttle: Throttle
    monitoring: Monitoring
    registry: Registry
    database: WholeDatabase
    freshness: Freshness | None
    """None without read replicas."""
    admissions: Admissions
    tokens: Tokens
    token_authentication: TokenAuthentication
    clock: Clock
    own_queries: TenantSessions | None
    """None in memory, where nothing speaks SQL."""
