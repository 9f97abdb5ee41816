"""Mailer, inbox and outbox relay, according to the settings."""

from urllib.parse import urlsplit

from adapters.joserfc.link_secrets import DerivedLinkSecrets
from adapters.mail.files import FileMailer
from adapters.mail.inbox import FileInbox
from adapters.mail.renderer import JinjaMailRenderer
from application.operations.mail_delivery import OutboxRelay, Pages
from application.ports.mail_delivery import Inbox, Mailer
from application.ports.runtime import Clock, LinkSecrets
from application.ports.whole_database import WholeDatabase
from entrypoints.settings.settings import Settings
from entrypoints.settings.this_machine import is_this_machine

MAIL_FOLDER = "mail"
"""Folder in DATA_DIR."""


def mailer_of(settings: Settings) -> Mailer:
    """Return an SMTP mailer if a server is set, else one that writes files."""
    if settings.smtp_url is None:
        return FileMailer(settings.data_dir / MAIL_FOLDER, settings.mail_from)
    from adapters.mail.smtp import SmtpMailer  # needed only with SMTP
    from adapters.mail.smtp_url import read_smtp_url

    return SmtpMailer(read_smtp_url(settings.smtp_url.reveal()), settings.mail_from)


def inbox_of(settings: Settings) -> Inbox | None:
    """Return the mails stored as files, if only this machine reaches the service."""
    # Security: a link in a mail is as good as a password, so other machines must not reach the inbox.
    is_local = is_this_machine(urlsplit(settings.base_url).hostname)
    return FileInbox(settings.data_dir / MAIL_FOLDER) if settings.smtp_url is None and is_local else None


def relay_of(database: WholeDatabase, mailer: Mailer, clock: Clock, settings: Settings) -> OutboxRelay:
    return OutboxRelay(
        database=database,
        renderer=JinjaMailRenderer(settings.docs_title),
        mailer=mailer,
        secrets=link_secrets(settings),
        clock=clock,
        pages=Pages(confirm=settings.confirm_url, reset=settings.reset_url, invitation=settings.invitation_url),
    )


def link_secrets(settings: Settings) -> LinkSecrets:
    # The links of invitations and their mails use the same secrets.
    assert settings.secret_key is not None
    return DerivedLinkSecrets(settings.secret_key.reveal())
