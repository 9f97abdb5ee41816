"""Passwords: hashed with Argon2id, and checked against what other systems hashed them with."""

from adapters.argon2.foreign import Argon2ForeignHashes as Argon2ForeignHashes
from adapters.argon2.passwords import Argon2Passwords as Argon2Passwords
from adapters.argon2.passwords import Cost as Cost
