"""Exits with 0 when the snippet of the documentation accepts the message: snippet.py SECRET HEADERS.json BODY"""

import json
import sys

from verify import verify

secret, headers, body = sys.argv[1:]
sys.exit(0 if verify(secret, json.load(open(headers)), open(body, "rb").read()) else 3)
