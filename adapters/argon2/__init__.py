"""Password hashing with Argon2id, and verification of imported hashes."""

from adapters.argon2.foreign import Argon2ForeignHashes as Argon2ForeignHashes
from adapters.argon2.passwords import Argon2Passwords as Argon2Passwords
from adapters.argon2.passwords import Cost as Cost
