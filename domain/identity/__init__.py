"""Rules of identity: users, tenants, roles, permissions, tokens, sessions and signing keys.

No HTTP, no SQL and no clock: functions take ``now`` and return what should happen.
"""
