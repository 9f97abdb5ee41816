"""The baseline's tokens: signed at login, verified once and cached."""

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import OKPKey
from litestar import Request, Response, post
from litestar.exceptions import NotAuthorizedException
from litestar.params import JSONBody
from msgspec import Struct, convert, json

LIFETIME = 3_600
MOST_REMEMBERED = 20_000

_key = OKPKey.generate_key("Ed25519")
_hasher = PasswordHasher(memory_cost=19_456, time_cost=2, parallelism=1)
_hashing = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
_remembered: dict[str, "Claims"] = {}


class Claims(Struct, gc=False):
    sub: UUID
    tenant_id: UUID
    name: str
    email: str
    roles: list[str]
    permissions: list[str]
    exp: int


class LoginForm(Struct, rename="camel"):
    email: str
    password: str
    is_password_encrypted: bool = False


def caller(request: Request[Any, Any, Any]) -> Claims:
    header = request.headers.get("authorization", "")
    claims = _remembered.get(header)
    if claims is None:
        claims = _verified(header)
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.clear()
        _remembered[header] = claims
    if claims.exp < time.time():
        raise NotAuthorizedException("The token has expired.")
    return claims


def _verified(header: str) -> Claims:
    try:
        decoded = jwt.decode(header.removeprefix("Bearer "), _key, algorithms=["Ed25519"])
        return convert(decoded.claims, Claims)
    except (JoseError, ValueError) as error:
        raise NotAuthorizedException("The token is not valid.") from error


USER = """
SELECT id, tenant_id, name, email, roles, permissions, password_hash FROM users WHERE email = $1"""


@post("/api/auth/login", status_code=200)
async def login(request: Request[Any, Any, Any], data: JSONBody[LoginForm]) -> Response[bytes]:
    row = await request.app.state.pool.fetchrow(USER, data.email.strip().lower())
    if row is None:
        raise NotAuthorizedException("The e-mail or the password is wrong.")
    try:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(_hashing, _hasher.verify, row["password_hash"], data.password)
    except VerifyMismatchError as error:
        raise NotAuthorizedException("The e-mail or the password is wrong.") from error
    claims = {name: row[name] for name in ("name", "email", "roles", "permissions")}
    claims |= {"sub": str(row["id"]), "tenant_id": str(row["tenant_id"]), "exp": int(time.time()) + LIFETIME}
    token = jwt.encode({"alg": "Ed25519", "typ": "at+jwt"}, claims, _key, algorithms=["Ed25519"])
    body = {"isSuccess": True, "data": {"token": token, "permissions": row["permissions"], "tokenType": "Tenant"}}
    return Response(json.encode(body), media_type="application/json")
