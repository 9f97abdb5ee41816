"""Signed URLs of S3 with response headers in the signature, which obstore does not offer.

The signature is version 4 of AWS, in the query string.
"""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime, timedelta
from urllib.parse import quote, urlsplit

from msgspec import Struct

_SAFE = "-._~"


class UrlSigner(Struct, frozen=True):
    """Credentials of a region."""

    key_id: str
    secret: str
    region: str

    # Security: omit the secret from logs and tracebacks.
    def __repr__(self) -> str:
        return f"UrlSigner({self.region})"

    def url(self, url: str, parameters: Mapping[str, str], lifetime: timedelta, now: datetime) -> str:
        """Return the URL (without a query) for a GET with these parameters, valid for ``lifetime`` from ``now`` on."""
        moment = f"{now:%Y%m%dT%H%M%SZ}"
        scope = f"{now:%Y%m%d}/{self.region}/s3/aws4_request"
        query = _query(
            {
                "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
                "X-Amz-Credential": f"{self.key_id}/{scope}",
                "X-Amz-Date": moment,
                "X-Amz-Expires": str(int(lifetime.total_seconds())),
                "X-Amz-SignedHeaders": "host",
                **parameters,
            }
        )
        parts = urlsplit(url)
        request = f"GET\n{parts.path}\n{query}\nhost:{parts.netloc}\n\nhost\nUNSIGNED-PAYLOAD"
        digest = hashlib.sha256(request.encode()).hexdigest()
        signed = _hmac(self._key(now), f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}").hex()
        return f"{url}?{query}&X-Amz-Signature={signed}"

    def _key(self, now: datetime) -> bytes:
        key = f"AWS4{self.secret}".encode()
        for part in (f"{now:%Y%m%d}", self.region, "s3", "aws4_request"):
            key = _hmac(key, part)
        return key


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")


def _query(parameters: Mapping[str, str]) -> str:
    return "&".join(f"{quote(name, safe=_SAFE)}={quote(text, safe=_SAFE)}" for name, text in sorted(parameters.items()))
