"""Signed URLs of S3, held against the example of AWS's own documentation."""

from datetime import UTC, datetime, timedelta

from adapters.objects.signing import UrlSigner

SIGNER = UrlSigner("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1")
NOW = datetime(2013, 5, 24, tzinfo=UTC)
URL = "https://examplebucket.s3.amazonaws.com/test.txt"


def test_a_signature_is_the_one_of_the_documentation() -> None:
    assert SIGNER.url(URL, {}, timedelta(days=1), NOW) == (
        f"{URL}?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
        "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
        "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )


def test_a_signature_changes_with_headers_lifetime_and_time() -> None:
    urls = [
        SIGNER.url(URL, {"response-content-type": media_type}, timedelta(seconds=seconds), now)
        for media_type in ("image/png", "text/html")
        for seconds in (60, 61)
        for now in (NOW, NOW + timedelta(seconds=1))
    ]
    assert len({url.rpartition("=")[2] for url in urls}) == len(urls)


def test_the_secret_is_not_shown() -> None:
    assert SIGNER.secret not in repr(SIGNER)
