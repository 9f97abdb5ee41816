"""URLs of stores."""

import pytest

from adapters.objects.address import StoreAddress, read_store_url


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("s3://photos", StoreAddress(service="s3", bucket="photos")),
        (
            "s3://photos/a/b/?region=eu-central-1&endpoint=https://s3.example.com/",
            StoreAddress(
                service="s3", bucket="photos", prefix="a/b", region="eu-central-1", endpoint="https://s3.example.com"
            ),
        ),
        ("gs://photos/files", StoreAddress(service="gs", bucket="photos", prefix="files")),
        ("az://photos?account=acme", StoreAddress(service="az", bucket="photos", account="acme")),
    ],
)
def test_a_url_names_a_bucket(url: str, address: StoreAddress) -> None:
    assert read_store_url(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "",
        "photos",
        "s3://",
        "s3:///photos",
        "ftp://photos",
        "https://photos",
        "s3://key:secret@photos",
        "s3://photos:9000",
        "s3://photos#a",
        "s3://photos/../a",
        "s3://photos/a%2F..%2Fb",
        "s3://photos?region=",
        "s3://photos?secret=a",
        "s3://photos?region",
        "s3://photos?account=a",
        "gs://photos?region=a",
        "s3://photos?endpoint=s3.example.com",
        "s3://photos?endpoint=ftp://s3.example.com",
        "s3://photos?endpoint=https://s3.example.com?a=b",
    ],
)
def test_another_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the setting has the message
        read_store_url(url)
