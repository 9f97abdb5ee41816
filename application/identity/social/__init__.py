"""Use cases of logins at social providers, by a token or by redirect."""
