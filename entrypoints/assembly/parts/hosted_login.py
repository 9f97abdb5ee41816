"""Use cases of the sign-in pages on adapters."""

from dataclasses import dataclass

from adapters.http.identity.hosted_login.part import HostedLoginUseCases
from adapters.prometheus.outcomes import CodeCounts
from application.identity.hosted_login.appearance import Appearances
from application.identity.hosted_login.login_codes import LoginCodes
from application.identity.hosted_login.targets import Targets
from entrypoints.assembly.adapters import Adapters
from entrypoints.assembly.parts.shared import SharedObjects


@dataclass(frozen=True, kw_only=True)
class HostedLoginServices(HostedLoginUseCases):
    code_counts: CodeCounts


def assemble_hosted_login(adapters: Adapters, shared: SharedObjects) -> HostedLoginServices:
    database, counts, targets = adapters.database, CodeCounts(), Targets(shared.applications)
    return HostedLoginServices(
        login_codes=LoginCodes(
            database, adapters.tickets, targets, shared.renewal, shared.sign_out, counts, adapters.clock
        ),
        targets=targets,
        appearances=Appearances(database),
        code_counts=counts,
    )
