"""Use cases of accounts: registration, proof of an address, forgotten and changed passwords."""
