"""Use cases of users' own accounts: profile, address, sessions, linked identities, export, deletion."""
