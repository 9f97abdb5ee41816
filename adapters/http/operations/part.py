"""Use cases of operations that handlers call."""

from dataclasses import dataclass

from application.denied_operations import DeniedOperations
from application.operations.monitoring import Monitoring
from application.operations.system_reports import SystemReports


@dataclass(frozen=True, kw_only=True)
class OperationUseCases:
    system_reports: SystemReports
    monitoring: Monitoring
    denied_operations: DeniedOperations
