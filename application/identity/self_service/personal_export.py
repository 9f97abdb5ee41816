"""Export of all stored data about the caller."""

from dataclasses import dataclass

from application.ports.database import Database
from application.ports.identity.personal_data import PersonalData, PersonalTransaction
from domain.errors import TokenInvalid
from domain.scope import Caller, EveryTenant


@dataclass(frozen=True)
class PersonalExport:
    database: Database[PersonalTransaction]

    async def of(self, caller: Caller) -> PersonalData:
        async with self.database.read_only(EveryTenant()) as read:
            state = await read.users.state(caller.user_id)
            data = await read.personal.of(state.user) if state else None
        if data is None:
            raise TokenInvalid
        return data
