import base64
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import cast

from . import types


class WebhookError(Exception):
    """The message is not from the service, or too old. Respond with 401 and do not process it."""


def verify_webhook(
    secrets: str | Sequence[str], headers: Mapping[str, str], body: bytes, *, tolerance: float = 300, now: datetime | None = None
) -> tuple[str, types.WebhookMessage]:
    """Verifies and parses a message. Returns its delivery id, to detect a message that arrives twice, and the message.

    `secrets` are the `secret_key`s of your endpoints, and `body` is the unparsed body. `tolerance` is in seconds.
    """
    given = {name.lower(): value for name, value in headers.items()}
    timestamp = given.get("timestamp", "")
    try:
        sent = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        raise WebhookError("The header `timestamp` is missing or is not a time.") from None
    if abs(((now or datetime.now(timezone.utc)) - sent).total_seconds()) > tolerance:
        raise WebhookError("The header `timestamp` is outside the tolerance.")
    payload = timestamp.encode() + b"." + base64.b64encode(body)
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        expected = hmac.new(secret.encode(), payload, hashlib.sha256).hexdigest().encode()
        for name in ("signature", "signature-next"):
            if hmac.compare_digest(expected, given.get(name, "").encode()):
                return given.get("delivery-id", ""), cast(types.WebhookMessage, json.loads(body))
    raise WebhookError("No signature matches. Compare the secret with the `secret_key` of the endpoint.")
