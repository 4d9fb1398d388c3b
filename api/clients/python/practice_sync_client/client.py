import asyncio
import random
import threading
import time
import uuid
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Required, Self, TypedDict, Unpack

import httpx

from . import types
from .errors import ApiError, ConnectionFailed, read_body
from .operations import AsyncOperations, Operations

REPEATED = (429, 500, 502, 503, 504)


@dataclass(frozen=True)
class ChangeBatch:
    changes: list[types.RecordChange]
    cursor: str
    """The position after these changes. Store it with them."""
    reload: bool
    """Replace the whole copy with the records of the lists: the call had no cursor, or it has expired."""


@dataclass(frozen=True)
class _Pause:
    seconds: float


@dataclass(frozen=True)
class _Token:
    """Requests a token other than the refused one."""

    refused: str | None


@dataclass(frozen=True)
class _Item:
    """A value for the caller."""

    value: Any


# The protocol, without IO: the steps of a call, each with its outcome. `Client` and `AsyncClient` carry them out.
_Steps = Generator[httpx.Request | _Pause | _Token | _Item, Any, Any]


class Options(TypedDict, total=False):
    user_agent: Required[str]
    """Name and version of your application: `my-app/1.0`."""
    subdomain: str
    """Subdomain of calls without one."""
    version: types.ApiVersion
    timeout: float
    """Time limit of connecting and of each wait for data, in seconds. Default: 30."""
    retries: int
    """Maximum number of attempts after the first one. Default: 4."""
    max_retry_after: float
    """The longest accepted `Retry-After`, in seconds. Default: 60. The call fails if the service requires more."""


class _Protocol:
    def __init__(self, base_url: str, api_key: str, options: Options) -> None:
        self._base_url, self._api_key, self._options = base_url.rstrip("/"), api_key, options
        self._version = options.get("version", "v3.0.0")
        self._token: str | None = None

    def _sign_in(self) -> _Steps:
        answer = yield from self._send("POST", "/authenticates", {}, None, None, self._version, self._api_key)
        yield _Item(answer["data"]["token"])

    def _answer(
        self, method: str, path: str, query: dict[str, Any], body: Any, key: Literal["body", "header"] | None,
        idempotency_key: str | None, version: str | None,
    ) -> _Steps:
        # One key for all attempts.
        made = idempotency_key or str(uuid.uuid4())
        if key == "body":
            body = {"idempotency_key": made, **body}
        if "subdomain" in query:
            query = {**query, "subdomain": query["subdomain"] or self._options.get("subdomain")}
        header = made if key == "header" else None
        token = yield _Token(None)
        try:
            return (yield from self._send(method, path, query, body, header, version or self._version, f"Bearer {token}"))
        except ApiError as error:
            if error.reason not in ("token_expired", "token_invalid"):
                raise
        token = yield _Token(token)
        return (yield from self._send(method, path, query, body, header, version or self._version, f"Bearer {token}"))

    def _send(
        self, method: str, path: str, query: dict[str, Any], content: Any, key: str | None, version: str, authorization: str
    ) -> _Steps:
        """Sends a request until it has an answer. All attempts have the same body, key and id."""
        request_id = str(uuid.uuid4())
        headers = {"Authorization": authorization, "Svc-Api-Version": version, "User-Agent": self._options["user_agent"]}
        headers |= {"X-Request-Id": request_id} | ({"Idempotency-Key": key} if key else {})
        given = {name: value for name, value in query.items() if value is not None}
        extensions = {"timeout": httpx.Timeout(self._options.get("timeout", 30)).as_dict()}
        request = httpx.Request(
            method, self._base_url + path, params=given, headers=headers, json=content, extensions=extensions
        )
        backoff: float = 0.5
        for left in range(self._options.get("retries", 4), -1, -1):
            outcome = yield request
            after: float | None = None
            failure: ApiError | ConnectionFailed
            if isinstance(outcome, httpx.TransportError):
                failure = ConnectionFailed(request_id, isinstance(outcome, httpx.TimeoutException))
                failure.__cause__ = outcome
            elif outcome.status_code == 204:
                return None
            else:
                body = read_body(outcome)
                if outcome.is_success and body:
                    return body
                failure = ApiError(outcome, body)
                after = failure.retry_after
                if failure.status not in REPEATED or (after or 0) > self._options.get("max_retry_after", 60):
                    raise failure
            if left == 0:
                raise failure
            yield _Pause(after or backoff * random.uniform(0.5, 1))
            backoff = min(backoff * 2, 30)

    def _call_steps(self, *arguments: Any) -> _Steps:
        yield _Item((yield from self._answer(*arguments)))

    def _record_steps(self, path: str, query: dict[str, Any], version: str | None) -> _Steps:
        while True:
            page = yield from self._answer("GET", path, query, None, None, None, version)
            for record in page["data"]:
                yield _Item(record)
            if not page["page_info"]["has_next_page"]:
                return
            query = {**query, "end_cursor": page["page_info"]["end_cursor"]}

    def _change_steps(self, query: dict[str, Any], every: float | None) -> _Steps:
        while True:
            since = query["since"]
            try:
                page = yield from self._answer("GET", "/changes", query, None, None, None, None)
            except ApiError as error:
                if error.reason != "cursor_expired" or not since:
                    raise
                query = {**query, "since": None}
                continue
            cursor = page["page_info"]["end_cursor"]
            if cursor != since:
                yield _Item(ChangeBatch(page["data"], cursor, reload=not since))
            query = {**query, "since": cursor}
            if not page["page_info"]["has_next_page"]:
                if every is None:
                    return
                yield _Pause(every)


class Client(_Protocol, Operations):
    """A client of one API key. Threads may share it."""

    def __init__(self, base_url: str, api_key: str, *, http: httpx.Client | None = None, **options: Unpack[Options]) -> None:
        super().__init__(base_url, api_key, options)
        self._http, self._renewal = http or httpx.Client(), threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def changes(
        self, *, location_id: int, subdomain: str | None = None, since: str | None = None,
        resource: Sequence[str] | None = None, every: float | None = 5,
    ) -> Iterator[ChangeBatch]:
        """Returns the changes of a location after `since`. A batch whose cursor was not stored arrives again.

        The service is asked again every `every` seconds, or until all changes have been read if `every` is None.
        """
        query = {"subdomain": subdomain, "location_id": location_id, "since": since, "resource[]": resource}
        return self._run(self._change_steps(query, every))

    def _call(self, *arguments: Any) -> Any:
        [answer] = self._run(self._call_steps(*arguments))
        return answer

    def _records(self, *arguments: Any) -> Iterator[Any]:
        return self._run(self._record_steps(*arguments))

    def _run(self, steps: _Steps) -> Iterator[Any]:
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration:
                return
            outcome = None
            match step:
                case httpx.Request():
                    try:
                        outcome = self._http.send(step)
                    except httpx.TransportError as error:
                        outcome = error
                case _Pause(seconds):
                    time.sleep(seconds)
                case _Token(refused):
                    with self._renewal:
                        if self._token in (None, refused):
                            [self._token] = self._run(self._sign_in())
                        outcome = self._token
                case _Item(value):
                    yield value


class AsyncClient(_Protocol, AsyncOperations):
    """A client of one API key for asyncio."""

    def __init__(self, base_url: str, api_key: str, *, http: httpx.AsyncClient | None = None, **options: Unpack[Options]) -> None:
        super().__init__(base_url, api_key, options)
        self._http, self._renewal = http or httpx.AsyncClient(), asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    def changes(
        self, *, location_id: int, subdomain: str | None = None, since: str | None = None,
        resource: Sequence[str] | None = None, every: float | None = 5,
    ) -> AsyncIterator[ChangeBatch]:
        """As `Client.changes`."""
        query = {"subdomain": subdomain, "location_id": location_id, "since": since, "resource[]": resource}
        return self._run(self._change_steps(query, every))

    async def _call(self, *arguments: Any) -> Any:
        [answer] = [answer async for answer in self._run(self._call_steps(*arguments))]
        return answer

    def _records(self, *arguments: Any) -> AsyncIterator[Any]:
        return self._run(self._record_steps(*arguments))

    async def _run(self, steps: _Steps) -> AsyncIterator[Any]:
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration:
                return
            outcome = None
            match step:
                case httpx.Request():
                    try:
                        outcome = await self._http.send(step)
                    except httpx.TransportError as error:
                        outcome = error
                case _Pause(seconds):
                    await asyncio.sleep(seconds)
                case _Token(refused):
                    async with self._renewal:
                        if self._token in (None, refused):
                            [self._token] = [token async for token in self._run(self._sign_in())]
                        outcome = self._token
                case _Item(value):
                    yield value
