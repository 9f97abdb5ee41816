"""Rules of identity: users, tenants, roles, permissions, tokens, sessions and signing keys.

No HTTP, SQL or clock: functions accept ``now`` and return the required action.
"""
