"""Use cases of accounts: registration, proof of an address, password reset and change."""
