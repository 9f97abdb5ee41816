"""Conversion of Keycloak's credentials from JSON to an equivalent PHC string."""

import msgspec
from msgspec import Raw, Struct

DIGESTS = {"pbkdf2": "pbkdf2", "pbkdf2-sha256": "pbkdf2-sha256", "pbkdf2-sha512": "pbkdf2-sha512"}


class _Credential(Struct, rename="camel"):
    """Exported credential; both members are JSON objects or strings containing one."""

    secret_data: Raw
    credential_data: Raw


class _Secret(Struct):
    value: str
    salt: str


class _Parameters(Struct, rename="camel"):
    algorithm: str
    hash_iterations: int
    additional_parameters: dict[str, list[str]] = {}


def phc_of(text: str) -> str:
    """Convert a credential's JSON to ``$pbkdf2-sha256$i=27500$salt$hash`` or ``$argon2id$…``.

    Raises ValueError with a message for the user.
    """
    try:
        credential = msgspec.json.decode(text, type=_Credential)
        secret = msgspec.json.decode(_object(credential.secret_data), type=_Secret)
        parameters = msgspec.json.decode(_object(credential.credential_data), type=_Parameters)
    except msgspec.MsgspecError:
        raise ValueError("is JSON, and not a credential that Keycloak exports") from None
    salt, value = secret.salt.rstrip("="), secret.value.rstrip("=")
    if parameters.algorithm == "argon2":
        return f"{_argon2(parameters)}${salt}${value}"
    if parameters.algorithm not in DIGESTS:
        raise ValueError(f"is of Keycloak's algorithm {parameters.algorithm!r}, which is not known here")
    return f"${DIGESTS[parameters.algorithm]}$i={parameters.hash_iterations}${salt}${value}"


def _object(raw: Raw) -> bytes:
    whole = bytes(raw)
    return msgspec.json.decode(whole, type=str).encode() if whole.startswith(b'"') else whole


def _argon2(parameters: _Parameters) -> str:
    more = {name: values[0] for name, values in parameters.additional_parameters.items() if values}
    version = {"1.0": 16, "1.3": 19}.get(more.get("version", "1.3"), 0)  # 0, an unknown version, matches no password
    shape = f"m={more.get('memory', '')},t={parameters.hash_iterations},p={more.get('parallelism', '')}"
    return f"$argon2{more.get('type', 'id')}$v={version}${shape}"
