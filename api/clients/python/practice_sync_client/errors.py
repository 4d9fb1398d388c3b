from typing import Any

import httpx

from . import types


def read_body(response: httpx.Response) -> dict[str, Any]:
    """Returns an empty body if the body is not of this API, such as the page of a proxy."""
    try:
        body = response.json()
    except ValueError:
        body = None
    return body if isinstance(body, dict) else {}


class ApiError(Exception):
    """The service refused the call, or failed."""

    def __init__(self, response: httpx.Response, body: dict[str, Any]) -> None:
        self.body = body
        """The response. `reason` determines the other fields, such as `alternatives` and `missing_fields`."""
        self.status = response.status_code
        self.reason: types.FailureReason | None = self.body.get("reason")
        """One word for programs, as in the table "Errors" of the guide. None if a proxy responded."""
        self.request_id: str = response.headers.get("x-request-id") or response.request.headers["x-request-id"]
        """The id to quote when you report a problem."""
        after: str = response.headers.get("retry-after", "")
        self.retry_after = float(after) if after.isdecimal() else None
        """Seconds."""
        # `error` is a text in the JSON of some proxies.
        error = self.body.get("error") or f"HTTP status {self.status} without a body of this API"
        self.message: str = self.body.get("message") or (" ".join(error) if isinstance(error, list) else str(error))
        super().__init__(self.message)


class ConnectionFailed(Exception):
    """No response arrived: the connection failed, or a time limit passed. `__cause__` has the reason."""

    def __init__(self, request: httpx.Request, cause: Exception) -> None:
        self.__cause__ = cause
        self.request_id: str = request.headers["x-request-id"]
        self.timed_out = isinstance(cause, httpx.TimeoutException)
        super().__init__("The service did not respond in time." if self.timed_out else "The connection to the service failed.")
