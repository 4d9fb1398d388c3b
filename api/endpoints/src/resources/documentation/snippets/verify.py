# Python. `headers` with lower-case names, `body` as it came in, before it is parsed.
import base64
import hashlib
import hmac
from datetime import datetime, timedelta, timezone

TOLERANCE = timedelta(minutes=5)


def verify(secret_key: str, headers, body: bytes) -> bool:
    timestamp = headers.get("timestamp", "")
    try:
        sent = datetime.strptime(timestamp, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return False
    if abs(datetime.now(timezone.utc) - sent) > TOLERANCE:
        return False
    signed_payload = timestamp.encode() + b"." + base64.b64encode(body)
    expected = hmac.new(secret_key.encode(), signed_payload, hashlib.sha256).hexdigest().encode()
    given = [headers.get(name, "").encode() for name in ("signature", "signature-next")]
    return any(hmac.compare_digest(expected, one) for one in given)
