"""Use cases of people with their own account: profile, address, sessions, linked identities, export, deletion."""
