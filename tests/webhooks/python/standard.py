"""Exits with 0 when the library accepts the message: standard.py SECRET HEADERS.json BODY"""

import json
import sys

from standardwebhooks import Webhook, WebhookVerificationError

secret, headers, body = sys.argv[1:]
try:
    Webhook(secret).verify(open(body, "rb").read(), json.load(open(headers)))
except WebhookVerificationError as error:
    print(f"refused: {error}")
    sys.exit(3)
