"""A service in memory, with shortcuts for what users and administrators do in tests."""

from collections.abc import Mapping
from dataclasses import dataclass

from adapters.memory.clock import MovableClock
from adapters.memory.mail import MemoryMailer
from application.identity.account.accounts import ChangeForm, ConfirmForm, EmailForm, ResetForm
from application.identity.account.registration import Registered, RegisterForm
from application.identity.login.forms import LoginForm, LoginResult
from application.ports.mail_delivery import Message
from domain.entities.declaration import Registry
from domain.identity.tokens import caller_of
from domain.scope import Caller, Client
from entrypoints.assembly.adapters import Adapters, memory_adapters
from entrypoints.assembly.use_cases import Services, assemble
from entrypoints.settings.settings import read_settings
from tests.builders import ensure_keys, link_in, said_by
from tests.http.app import ADMIN, SETTINGS
from tests.http.app import PASSWORD as ADMIN_PASSWORD

HERE = Client(address="192.0.2.1", network="192.0.2.1", device="a browser")
EMAIL, PASSWORD, NEW = "ada@example.com", "a first password", "a second password"


@dataclass
class InMemoryService:
    services: Services
    adapters: Adapters

    @property
    def clock(self) -> MovableClock:
        assert isinstance(self.adapters.clock, MovableClock)
        return self.adapters.clock

    @property
    def mailer(self) -> MemoryMailer:
        assert isinstance(self.adapters.mailer, MemoryMailer)
        return self.adapters.mailer

    async def mails(self) -> list[Message]:
        """The mails in the outbox, which are delivered now."""
        self.mailer.sent.clear()
        while await self.services.relay.deliver():
            pass
        return list(self.mailer.sent)

    async def mail(self) -> Message:
        (mail,) = await self.mails()
        return mail

    async def token(self) -> str:
        return said_by(link_in(await self.mail()))["token"]

    async def register(self, email: str = EMAIL, password: str = PASSWORD) -> Registered:
        form = RegisterForm(email=email, password=password, full_name="Ada Byron")
        return await self.services.registration.register(form, HERE)

    async def holder(self) -> Registered:
        """Registers an account and confirms its address."""
        made = await self.register()
        await self.confirm(await self.token())
        return made

    async def confirm(self, token: str, email: str = EMAIL) -> None:
        await self.services.accounts.confirm_email(ConfirmForm(email=email, token=token), HERE)

    async def ask(self, email: str = EMAIL) -> None:
        await self.services.accounts.request_link("reset", EmailForm(email=email))

    async def reset(self, token: str, password: str = NEW, email: str = EMAIL) -> None:
        form = ResetForm(email=email, token=token, new_password=password)
        await self.services.accounts.reset_password(form, HERE)

    async def login(self, password: str = PASSWORD, email: str = EMAIL) -> LoginResult:
        form = LoginForm(email=email, password=password, is_password_encrypted=False)
        return await self.services.sign_in.login(form, HERE)

    async def change(self, caller: Caller, current: str = PASSWORD, new: str = NEW) -> None:
        form = ChangeForm(current_password=current, new_password=new)
        await self.services.accounts.change_password(caller, form, HERE)

    def caller(self, result: LoginResult) -> Caller:
        return caller_of(self.services.tokens.read(result.token, self.clock.now()))

    async def is_alive(self, caller: Caller) -> bool:
        return (await self.services.throttle.admit([], caller, [])).refusal is None

    async def admin(self) -> Caller:
        return self.caller(await self.login(ADMIN_PASSWORD, ADMIN))


async def open_service(registry: Registry, environment: Mapping[str, str] | None = None) -> InMemoryService:
    settings = read_settings({**SETTINGS, **(environment or {})})
    adapters = memory_adapters(settings, registry)
    services = assemble(adapters, settings)
    await ensure_keys(services)
    await services.first_start.prepare(ADMIN, ADMIN_PASSWORD)
    return InMemoryService(services, adapters)
