"""Keycloak's credentials, which are JSON, as one line of text that says the same."""

import msgspec
from msgspec import Raw, Struct

DIGESTS = {"pbkdf2": "pbkdf2", "pbkdf2-sha256": "pbkdf2-sha256", "pbkdf2-sha512": "pbkdf2-sha512"}


class _Credential(Struct, rename="camel"):
    """Both are objects, or objects in a text."""

    secret_data: Raw
    credential_data: Raw


class _Secret(Struct):
    value: str
    salt: str


class _Said(Struct, rename="camel"):
    algorithm: str
    hash_iterations: int
    additional_parameters: dict[str, list[str]] = {}


def phc_of(text: str) -> str:
    """Raises ValueError with a sentence."""
    try:
        credential = msgspec.json.decode(text, type=_Credential)
        secret = msgspec.json.decode(_object(credential.secret_data), type=_Secret)
        said = msgspec.json.decode(_object(credential.credential_data), type=_Said)
    except msgspec.MsgspecError:
        raise ValueError("is JSON, and not a credential that Keycloak exports") from None
    salt, value = secret.salt.rstrip("="), secret.value.rstrip("=")
    if said.algorithm == "argon2":
        return f"{_argon2(said)}${salt}${value}"
    if said.algorithm not in DIGESTS:
        raise ValueError(f"is of Keycloak's algorithm {said.algorithm!r}, which is not known here")
    return f"${DIGESTS[said.algorithm]}$i={said.hash_iterations}${salt}${value}"


def _object(raw: Raw) -> bytes:
    whole = bytes(raw)
    return msgspec.json.decode(whole, type=str).encode() if whole.startswith(b'"') else whole


def _argon2(said: _Said) -> str:
    more = {name: values[0] for name, values in said.additional_parameters.items() if values}
    version = {"1.0": 16, "1.3": 19}.get(more.get("version", "1.3"), 0)
    shape = f"m={more.get('memory', '')},t={said.hash_iterations},p={more.get('parallelism', '')}"
    return f"$argon2{more.get('type', 'id')}$v={version}${shape}"
