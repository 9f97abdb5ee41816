"""Operations that other tests have answered, because they need more than the application of the document has."""

_PEOPLE = {"authSocialLogin", "authCreateTenant", "authMakeCode", "authExchangeCode"}
"""There are a provider, tenants that people make, and applications with addresses: tests/http/identity."""

_WEBHOOKS = "Create Get Update Delete RotateSecret Test Deliveries Retry Replay".split()
"""There is an entity with a feed: tests/http/entities/webhooks."""

_FILES = {"filesUpload", "filesRead", "filesDelete", "filesLinked", "productsReadPhoto", "productsLinkPhoto"}
"""There are uploads and rows that hold them: tests/http/entities/attachments."""

_STREAMS = {"changesStream"}
"""The response has no end: tests/http/entities/changes."""

ELSEWHERE = {*_PEOPLE, *_FILES, *_STREAMS, *(f"webhooks{name}" for name in _WEBHOOKS)}
