"""Exits with 0 when the client accepts the message: verify.py SECRET HEADERS.json BODY"""

import json
import sys

from practice_sync_client import WebhookError, verify_webhook

secret, headers, body = sys.argv[1:]
try:
    verify_webhook(secret, json.load(open(headers)), open(body, "rb").read())
except WebhookError as error:
    print(f"refused: {error}")
    sys.exit(3)
