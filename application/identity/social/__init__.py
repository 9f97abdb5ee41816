"""Use cases of logins at social providers, by token or by redirect."""
