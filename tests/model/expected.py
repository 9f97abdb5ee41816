"""What the service must answer, as a model of plain values: no module of the service is imported here.

Tenants, users and roles go by their names. An access token is live, stale (its bearer may refresh) or dead.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Fate = Literal["live", "stale", "dead"]

Refusal = str
"""An error code, in place of what was asked for."""

ATTEMPTS = 5
"""Wrong passwords in a row that lock an account."""


@dataclass(eq=False)
class Session:
    user: str
    tenant: str | None
    is_open: bool = True


@dataclass(eq=False)
class Token:
    """``roles`` and ``permissions`` are those of its moment; without a tenant it only serves to choose one."""

    session: Session
    tenant: str | None
    roles: frozenset[str]
    permissions: frozenset[str]
    fate: Fate = "live"


@dataclass(eq=False)
class Row:
    tenant: str
    sku: str
    stock: int = 0
    is_deleted: bool = False


@dataclass
class User:
    is_active: bool = True
    failures: int = 0
    roles: dict[str, frozenset[str]] = field(default_factory=dict)
    """By tenant, those that the user is a member of."""


@dataclass
class Model:
    tenants: dict[str, bool] = field(default_factory=dict)
    """Whether each is open."""
    users: dict[str, User] = field(default_factory=dict)
    roles: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def log_in(self, name: str, tenant: str | None, *, knows_password: bool) -> Token | Refusal:
        user = self.users[name]
        if user.failures >= ATTEMPTS:
            return "ACCOUNT_LOCKED"
        if not knows_password:
            user.failures += 1
            return "INVALID_CREDENTIALS"
        if not user.is_active:
            return "ACCOUNT_DISABLED"
        entered = self._entered(name)
        if tenant is not None and tenant not in entered:
            return "FORBIDDEN"
        user.failures = 0
        chosen = tenant or (entered[0] if len(entered) == 1 else None)
        return self._issue(Session(name, chosen))

    def refresh(self, session: Session) -> Token | Refusal:
        if not session.is_open:
            return "TOKEN_INVALID"
        if session.tenant is not None and session.tenant not in self._entered(session.user):
            return "FORBIDDEN"
        return self._issue(session)

    def switch(self, token: Token, tenant: str) -> Token | Refusal:
        refusal = self.refusal(token)
        if refusal is not None:
            return refusal
        if tenant not in self._entered(token.session.user):
            return "FORBIDDEN"
        token.session.tenant = tenant
        return self._issue(token.session)

    def _entered(self, name: str) -> list[str]:
        return [tenant for tenant in self.users[name].roles if self.tenants[tenant]]

    def _issue(self, session: Session) -> Token:
        tenant = session.tenant
        roles = self.users[session.user].roles[tenant] if tenant is not None else frozenset[str]()
        held = [self.roles[tenant, role] for role in roles if tenant is not None]
        self.tokens.append(Token(session, tenant, roles, frozenset().union(*held)))
        return self.tokens[-1]

    def refusal(self, token: Token) -> Refusal | None:
        return {"live": None, "stale": "TOKEN_EXPIRED", "dead": "TOKEN_INVALID"}[token.fate]

    def may(self, token: Token, action: str) -> Refusal | None:
        """Of rows, whose errors know one code for all tokens that are not live."""
        if token.fate != "live":
            return "UNAUTHORIZED"
        return None if f"{action}:products" in token.permissions else "FORBIDDEN"

    def seen(self, token: Token) -> dict[str, int] | Refusal:
        return self.may(token, "read") or {
            row.sku: row.stock for row in self.rows if row.tenant == token.tenant and not row.is_deleted
        }

    def log_out(self, token: Token) -> Refusal | None:
        refusal = self.refusal(token)
        if refusal is None:
            self._end_all(token.session.user)
        return refusal

    def end_session(self, token: Token, session: Session) -> Refusal | None:
        refusal = self.refusal(token)
        if refusal is None:
            if session.user != token.session.user or not session.is_open:
                return "NOT_FOUND"
            self._end(session)
        return refusal

    def set_active(self, name: str, *, is_active: bool) -> None:
        self.users[name].is_active = is_active
        if not is_active:
            self._end_all(name)

    def set_open(self, tenant: str, *, is_open: bool) -> None:
        self.tenants[tenant] = is_open
        self._make_stale(lambda token: token.tenant == tenant)

    def give_roles(self, name: str, tenant: str, roles: frozenset[str]) -> None:
        """Into a membership that exists, or a new one."""
        self.users[name].roles[tenant] = roles
        self._make_stale(lambda token: token.session.user == name)

    def end_membership(self, name: str, tenant: str) -> None:
        del self.users[name].roles[tenant]
        self._make_stale(lambda token: token.session.user == name)

    def change_role(self, tenant: str, role: str, permissions: frozenset[str]) -> None:
        self.roles[tenant, role] = permissions
        self._make_stale(lambda token: token.tenant == tenant and role in token.roles)

    def _make_stale(self, concerns: Callable[[Token], bool]) -> None:
        for token in self.tokens:
            if token.fate == "live" and concerns(token):
                token.fate = "stale"

    def _end_all(self, name: str) -> None:
        for token in self.tokens:
            if token.session.user == name:
                self._end(token.session)

    def _end(self, session: Session) -> None:
        session.is_open = False
        for token in self.tokens:
            if token.session is session:
                token.fate = "dead"

    def create(self, token: Token, sku: str) -> Row | Refusal:
        refusal = self.may(token, "create")
        if refusal is not None or token.tenant is None:
            return refusal or "FORBIDDEN"
        if self._is_taken(token.tenant, sku):
            return "CONFLICT"
        self.rows.append(Row(token.tenant, sku))
        return self.rows[-1]

    def change(self, token: Token, row: Row, stock: int) -> Refusal | None:
        refusal = self.may(token, "update") or self._absence(token, row)
        if refusal is None:
            row.stock = stock
        return refusal

    def delete(self, token: Token, row: Row) -> Refusal | None:
        refusal = self.may(token, "delete") or self._absence(token, row)
        row.is_deleted = row.is_deleted or refusal is None
        return refusal

    def restore(self, token: Token, row: Row) -> Refusal | None:
        refusal = self.may(token, "delete") or ("NOT_FOUND" if row.tenant != token.tenant else None)
        if refusal is None and (not row.is_deleted or self._is_taken(row.tenant, row.sku)):
            return "CONFLICT"
        row.is_deleted = row.is_deleted and refusal is not None
        return refusal

    def _absence(self, token: Token, row: Row) -> Refusal | None:
        return "NOT_FOUND" if row.tenant != token.tenant or row.is_deleted else None

    def _is_taken(self, tenant: str, sku: str) -> bool:
        return any((row.tenant, row.sku, row.is_deleted) == (tenant, sku, False) for row in self.rows)
