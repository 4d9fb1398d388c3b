"""A client of the practice-sync API."""

from . import types
from .client import AsyncClient, ChangeBatch, Client, ExportBatch
from .errors import ApiError, ConnectionFailed
from .webhooks import WebhookError, verify_webhook

__all__ = ["ApiError", "AsyncClient", "ChangeBatch", "Client", "ConnectionFailed", "ExportBatch", "WebhookError", "types", "verify_webhook"]
