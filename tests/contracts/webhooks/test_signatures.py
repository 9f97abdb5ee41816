"""Signatures: another hand's verification accepts ours, and accepts nothing else."""

import json
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks import Webhook, WebhookVerificationError

from adapters.joserfc import SealedFactorSecrets, SealedWebhookSecrets
from adapters.outgoing.signing import StandardSigner
from application.ports.entities.webhooks import Signer, WebhookSecrets
from domain.entities.webhooks.signatures import SignatureScheme, signed_text
from tests.builders import new_id

MESSAGE = "msg_0b6f7d7e-3f1b-5e0a-9a53-0f9c6a1f7a11"
BODY = '{"type":"orders.changed","data":{"name":"Grüße"}}'.encode()
KEY, OTHER = "a secret key of more than 32 characters", "another secret key of 32 characters"


def signed(scheme: SignatureScheme, secret: bytes, at: datetime, body: bytes = BODY) -> str:
    signer: Signer = StandardSigner()
    return signer.signature(scheme, secret, signed_text(MESSAGE, at, body))


def headers(signature: str, at: datetime) -> dict[str, str]:
    return {"webhook-id": MESSAGE, "webhook-timestamp": str(int(at.timestamp())), "webhook-signature": signature}


@pytest.mark.promise("webhooks, signatures: signatures are those of Standard Webhooks 1.0")
def test_another_hand_accepts_signatures_of_v1() -> None:
    signer: Signer = StandardSigner()
    secret, now = signer.new_secret(), datetime.now(UTC)
    receiver = Webhook(signer.shown("v1", secret))
    assert receiver.verify(BODY, headers(signed("v1", secret, now), now)) == json.loads(BODY)
    assert receiver.sign(MESSAGE, now, BODY.decode()) == signed("v1", secret, now)


@pytest.mark.promise("webhooks, signatures: a body that was encoded again, another time and another key do not verify")
def test_another_hand_refuses_all_else() -> None:
    signer = StandardSigner()
    secret, now = signer.new_secret(), datetime.now(UTC)
    receiver, signature = Webhook(signer.shown("v1", secret)), signed("v1", secret, now)
    old = now - timedelta(minutes=6)
    encoded_again = json.dumps(json.loads(BODY)).encode()
    for body, given in (
        (encoded_again, headers(signature, now)),
        (BODY, headers(signature, now + timedelta(seconds=1))),
        (BODY, headers(signed("v1", secret, old), old)),
        (BODY, headers(signed("v1", signer.new_secret(), now), now)),
        (BODY, {**headers(signature, now), "webhook-id": "msg_other"}),
        (BODY, headers(signed("v1a", secret, now), now)),
    ):
        with pytest.raises(WebhookVerificationError):
            receiver.verify(body, given)


async def test_both_secrets_sign_during_a_rotation() -> None:
    signer, now = StandardSigner(), datetime.now(UTC)
    old, new = signer.new_secret(), signer.new_secret()
    both = f"{signed('v1', new, now)} {signed('v1', old, now)}"
    for secret in (old, new):
        assert Webhook(signer.shown("v1", secret)).verify(BODY, headers(both, now))


@pytest.mark.promise("webhooks, signatures: v1a is Ed25519, and its public key verifies no v1")
def test_the_public_key_verifies_v1a_only() -> None:
    signer = StandardSigner()
    secret, now = signer.new_secret(), datetime.now(UTC)
    shown = signer.shown("v1a", secret)
    assert shown.startswith("whpk_")
    public = Ed25519PublicKey.from_public_bytes(b64decode(shown.removeprefix("whpk_")))
    scheme, _, signature = signed("v1a", secret, now).partition(",")
    assert scheme == "v1a"
    public.verify(b64decode(signature), signed_text(MESSAGE, now, BODY))
    with pytest.raises(InvalidSignature):
        public.verify(b64decode(signature), signed_text(MESSAGE, now, BODY + b" "))
    # Security: a receiver that uses the public key as a secret of v1 must not accept what anybody can sign with it.
    fooled = Webhook(b64encode(public.public_bytes_raw()).decode())
    with pytest.raises(WebhookVerificationError):
        fooled.verify(BODY, headers(signed("v1a", secret, now), now))


def test_an_id_with_a_dot_is_not_signed() -> None:
    with pytest.raises(ValueError, match="dot"):
        signed_text("msg_1.2", datetime.now(UTC), BODY)


def test_secrets_are_random() -> None:
    secrets = {StandardSigner().new_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(secret) for secret in secrets} == {32}


@pytest.mark.promise("webhooks, signatures: a stored secret opens for its webhook only")
def test_a_sealed_secret_opens_for_its_webhook_only() -> None:
    secrets: WebhookSecrets = SealedWebhookSecrets(KEY)
    webhook_id, secret = new_id(), StandardSigner().new_secret()
    sealed = secrets.seal(webhook_id, secret)
    assert secrets.open(webhook_id, sealed) == secret
    assert secrets.open(new_id(), sealed) is None
    assert SealedWebhookSecrets(OTHER).open(webhook_id, sealed) is None
    assert SealedWebhookSecrets(OTHER, KEY).open(webhook_id, sealed) == secret
    assert SealedFactorSecrets(KEY).open(webhook_id, sealed) is None
