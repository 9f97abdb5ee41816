"""Controllers of users' own accounts."""

from adapters.http.identity.self_service.identities import IdentitiesController
from adapters.http.identity.self_service.own_account import OwnAccountController
from adapters.http.identity.self_service.sessions import SessionsController

CONTROLLERS = (
    SessionsController,
    OwnAccountController,
    IdentitiesController,
)
