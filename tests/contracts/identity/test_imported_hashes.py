"""Imported hashes, recognised by their prefix until they are replaced."""

from application.ports.identity.passwords import FOREIGN
from application.ports.whole_database import WholeDatabase
from domain.identity.logins import Login, RenewedHash
from domain.scope import EveryTenant
from tests.builders import session, user
from tests.contracts.identity.logins import begin


async def test_an_imported_hash_is_there_until_it_is_renewed(database: WholeDatabase) -> None:
    ada, bob, cleo = user(password_hash="$argon2id$own"), user(password_hash=None), user(password_hash=f"{FOREIGN}old")
    async with database.transaction(EveryTenant()) as tx:
        for person in (ada, bob):
            await tx.users.add(person)
        assert not await tx.imported.any_left()
        await tx.users.add(cleo)
        assert await tx.imported.any_left()
        state = await tx.users.state(cleo.id)
        assert state is not None
        renewed = RenewedHash(f"{FOREIGN}old", "$argon2id$new")
        assert await begin(tx, session(cleo.id), Login(state=state, methods=(), by_password=True, renewed=renewed))
        assert not await tx.imported.any_left()
