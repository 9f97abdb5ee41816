"""Use cases that handlers call, and the ports that they look at themselves."""

from typing import Protocol

from application.entities.batches import Batches
from application.entities.cross_tenant_access import CrossTenantAccess
from application.entities.crud import Crud
from application.entities.histories import Histories
from application.entities.transfers import FileTransfer
from application.identity.accounts import Accounts
from application.identity.administration.memberships import MembershipAdministration
from application.identity.administration.roles import RoleAdministration
from application.identity.administration.tenants import TenantAdministration
from application.identity.administration.users import UserAdministration
from application.identity.login.sign_in import SignIn
from application.identity.login.social_sign_in import SocialSignIn
from application.identity.my_sessions import MySessions
from application.identity.profiles import Profiles
from application.identity.registration import Registration
from application.ports.admissions import Admissions
from application.ports.clock import Clock
from application.ports.identity.sessions import Tokens
from application.ports.identity.signing_keys import Keyring
from application.ports.whole_database import WholeDatabase
from application.throttle import Throttle
from domain.entities.declaration import Registry


class Services(Protocol):
    """The attributes that ``entrypoints.use_cases`` fills in; read-only here."""

    @property
    def sign_in(self) -> SignIn: ...
    @property
    def social_sign_in(self) -> SocialSignIn: ...
    @property
    def registration(self) -> Registration: ...
    @property
    def accounts(self) -> Accounts: ...
    @property
    def my_sessions(self) -> MySessions: ...
    @property
    def profiles(self) -> Profiles: ...
    @property
    def users(self) -> UserAdministration: ...
    @property
    def roles(self) -> RoleAdministration: ...
    @property
    def tenants(self) -> TenantAdministration: ...
    @property
    def memberships(self) -> MembershipAdministration: ...
    @property
    def crud(self) -> Crud: ...
    @property
    def batches(self) -> Batches: ...
    @property
    def histories(self) -> Histories: ...
    @property
    def transfer(self) -> FileTransfer: ...
    @property
    def cross_tenant_access(self) -> CrossTenantAccess: ...
    @property
    def throttle(self) -> Throttle: ...
    @property
    def registry(self) -> Registry: ...
    @property
    def database(self) -> WholeDatabase: ...
    @property
    def admissions(self) -> Admissions: ...
    @property
    def tokens(self) -> Tokens: ...
    @property
    def keyring(self) -> Keyring: ...
    @property
    def clock(self) -> Clock: ...
