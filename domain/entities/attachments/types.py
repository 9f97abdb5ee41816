"""Media types that a field with files can declare."""

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
INLINE = IMAGES | {"application/pdf"}
"""Types that a browser may show. All other content is only downloaded."""
ANY_CONTENT = "application/octet-stream"
"""Accepts any content."""
_OFFICE = "application/vnd.openxmlformats-officedocument."
DETECTABLE = INLINE | {
    "application/zip",
    f"{_OFFICE}wordprocessingml.document",
    f"{_OFFICE}spreadsheetml.sheet",
    f"{_OFFICE}presentationml.presentation",
    "audio/mpeg",
    "video/mp4",
    "application/ogg",
    "audio/ogg",
    "application/vnd.apache.parquet",
    "text/plain",
    "text/csv",
    "application/json",
    ANY_CONTENT,
}
"""Types that the service finds in the content of a file."""
