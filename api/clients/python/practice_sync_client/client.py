import asyncio
import json
import random
import threading
import time
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, closing
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, Required, Self, TypedDict, TypeVar, Unpack, cast

import httpx

from . import types
from .errors import ApiError, ConnectionFailed, read_body
from .operations import AsyncOperations, Operations

Changes = TypeVar("Changes")
Exported = TypeVar("Exported")


@dataclass(frozen=True)
class ChangeBatch:
    changes: list[types.RecordChange]
    cursor: str
    """The position after these changes. Store it with them."""
    reload: bool
    """Replace the whole copy with an export: the call had no cursor, or it has expired."""


@dataclass(frozen=True)
class ExportBatch:
    records: list[types.ExportRecord]
    cursor: str
    """The position after these records: `cursor` of another export, or the first `since` of the changes if `is_last`."""
    is_last: bool


class Options(TypedDict, total=False):
    user_agent: Required[str]
    """Name and version of your application: `my-app/1.0`."""
    subdomain: str
    version: types.ApiVersion
    timeout: float
    """Time limit of connecting and of each wait for data, in seconds. Default: 30."""
    retries: int
    """Maximum number of attempts after the first one. Default: 4."""
    max_retry_after: float
    """The longest accepted `Retry-After`, in seconds. Default: 60. The call fails if the service requires more."""


class _Calls(Generic[Changes, Exported]):
    """The calls of both clients, with the IO of asyncio. `Client` replaces it by IO that blocks."""

    def __init__(self, base_url: str, api_key: str, http: Any, lock: Any, options: Options) -> None:
        self._base_url, self._api_key, self._options, self._http, self._lock = base_url.rstrip("/"), api_key, options, http, lock
        self._token: Any = None

    def changes(
        self, *, location_id: int, subdomain: str | None = None, since: str | None = None,
        resource: Sequence[str] | None = None, every: float | None = 5,
    ) -> Changes:
        """Returns the changes of a location after `since`. Asks again every `every` seconds, or ends if it is None."""
        query = {"subdomain": subdomain, "location_id": location_id, "since": since, "resource[]": resource}
        return cast(Changes, self._each(self._change_batches(query, every)))

    def export(self, *, location_id: int, subdomain: str | None = None, cursor: str | None = None) -> Exported:
        """Returns all records of a location, in batches. A broken export continues after its last batch."""
        query = {"subdomain": subdomain, "location_id": location_id, "cursor": cursor}
        return cast(Exported, self._each(self._export_batches(query)))

    def _call(self, *arguments: Any) -> Any:
        return self._result(self._answer(*arguments))

    def _records(self, *arguments: Any) -> Any:
        return self._each(self._pages(*arguments))

    def _result(self, answer: Awaitable[Any]) -> Any:
        return answer

    def _each(self, items: AsyncGenerator[Any, None]) -> Any:
        return items

    async def _exchange(self, request: httpx.Request, stream: bool) -> httpx.Response:
        response: httpx.Response = await self._http.send(request, stream=stream)
        if not response.is_success:
            await response.aread()
        return response

    async def _chunks(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        async with aclosing(response):
            async for chunk in response.aiter_bytes():
                yield chunk

    async def _pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def _locked(self) -> Any:
        return self._lock

    async def _answer(
        self, method: str, path: str, query: dict[str, Any], body: Any = None, key: str | None = None,
        idempotency_key: str | None = None, version: str | None = None, *, stream: bool = False,
    ) -> Any:
        made = idempotency_key or str(uuid.uuid4())
        body = {"idempotency_key": made, **body} if key == "body" else body
        if "subdomain" in query:
            query = {**query, "subdomain": query["subdomain"] or self._options.get("subdomain")}
        request = self._request(method, path, query, body, version)
        request.headers.update({"Idempotency-Key": made} if key == "header" else {})
        # A POST that takes no key may have had its effect although its answer is lost.
        repeatable = method != "POST" or key is not None
        token = await self._token_after(None)
        for is_renewed in (False, True):
            try:
                return await self._send(request, f"Bearer {token}", repeatable, stream)
            except ApiError as error:
                if is_renewed or error.reason not in ("token_expired", "token_invalid"):
                    raise
            token = await self._token_after(token)

    async def _token_after(self, refused: str | None) -> str:
        async with self._locked():
            if self._token in (None, refused):
                request = self._request("POST", "/authenticates", {}, None, None)
                self._token = (await self._send(request, self._api_key, True, False))["data"]["token"]
            return cast(str, self._token)

    def _request(self, method: str, path: str, query: dict[str, Any], body: Any, version: str | None) -> httpx.Request:
        version = version or self._options.get("version", "v3.0.0")
        headers = {"Svc-Api-Version": version, "User-Agent": self._options["user_agent"], "X-Request-Id": str(uuid.uuid4())}
        given = {name: value for name, value in query.items() if value is not None}
        limits = {"timeout": httpx.Timeout(self._options.get("timeout", 30)).as_dict()}
        return httpx.Request(method, self._base_url + path, params=given, headers=headers, json=body, extensions=limits)

    async def _send(self, request: httpx.Request, authorization: str, repeatable: bool, stream: bool) -> Any:
        """Sends a request until it has an answer. All attempts have the same body, key and id."""
        request.headers["Authorization"] = authorization
        for attempt in count():
            failure: ApiError | ConnectionFailed
            status, after = 0, None
            try:
                response = await self._exchange(request, stream)
            except httpx.TransportError as error:
                failure = ConnectionFailed(request, error)
            else:
                if stream and response.is_success:
                    return response
                body = read_body(response)
                if response.is_success and (body or response.status_code == 204):
                    return body or None
                failure = ApiError(response, body)
                status, after = failure.status, failure.retry_after
            again = status == 429 or (repeatable and status in (0, 500, 502, 503, 504))
            if not again or attempt >= self._options.get("retries", 4) or (after or 0) > self._options.get("max_retry_after", 60):
                raise failure
            await self._pause(after or _backoff(attempt))

    async def _pages(self, path: str, query: dict[str, Any], version: str | None) -> AsyncGenerator[Any, None]:
        while True:
            page = await self._answer("GET", path, query, version=version)
            for record in page["data"]:
                yield record
            if not page["page_info"]["has_next_page"]:
                return
            query = {**query, "end_cursor": page["page_info"]["end_cursor"]}

    async def _change_batches(self, query: dict[str, Any], every: float | None) -> AsyncGenerator[ChangeBatch, None]:
        while True:
            since = query["since"]
            try:
                page = await self._answer("GET", "/changes", query)
            except ApiError as error:
                if error.reason != "cursor_expired" or not since:
                    raise
                query = {**query, "since": None}
                continue
            cursor = page["page_info"]["end_cursor"]
            if cursor != since:
                yield ChangeBatch(page["data"], cursor, reload=not since)
            query = {**query, "since": cursor}
            if not page["page_info"]["has_next_page"]:
                if every is None:
                    return
                await self._pause(every)

    async def _export_batches(self, query: dict[str, Any]) -> AsyncGenerator[ExportBatch, None]:
        attempts = count()
        while True:
            response = await self._answer("GET", "/export", query, stream=True)
            records, rest = list[types.ExportRecord](), b""
            try:
                async with aclosing(self._chunks(response)) as chunks:
                    async for chunk in chunks:
                        # Lines of httpx would also end at characters that texts of records can have.
                        *texts, rest = (rest + chunk).split(b"\n")
                        for line in map(json.loads, texts):
                            if "data" in line:
                                records.append(line)
                            elif line["type"] == "resume":
                                yield ExportBatch(records, line["cursor"], is_last=False)
                                query, records, attempts = {**query, "cursor": line["cursor"]}, [], count()
                            elif line["type"] == "end":
                                yield ExportBatch(records, line["changes_cursor"], is_last=True)
                                return
                            elif line["type"] == "error":
                                raise ValueError(line["message"])
                raise ValueError("The export ended before its last line.")
            except (httpx.TransportError, ValueError) as error:
                if (attempt := next(attempts)) >= self._options.get("retries", 4):
                    raise ConnectionFailed(response.request, error) from error
                await self._pause(_backoff(attempt))


def _backoff(attempt: int) -> float:
    return min(0.5 * 2.0**attempt, 30) * random.uniform(0.5, 1)


class Client(_Calls[Iterator[ChangeBatch], Iterator[ExportBatch]], Operations):
    """A client of one API key. Threads may share it."""

    def __init__(self, base_url: str, api_key: str, *, http: httpx.Client | None = None, **options: Unpack[Options]) -> None:
        super().__init__(base_url, api_key, http or httpx.Client(), threading.Lock(), options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def _result(self, answer: Awaitable[Any]) -> Any:
        try:
            next(answer.__await__())
        except StopIteration as end:
            return end.value
        raise RuntimeError("a coroutine with blocking IO has waited")

    def _each(self, items: AsyncGenerator[Any, None]) -> Iterator[Any]:
        try:
            while (item := self._result(anext(items, None))) is not None:
                yield item
        finally:
            self._result(items.aclose())

    async def _exchange(self, request: httpx.Request, stream: bool) -> httpx.Response:
        response: httpx.Response = self._http.send(request, stream=stream)
        if not response.is_success:
            response.read()
        return response

    async def _chunks(self, response: httpx.Response) -> AsyncGenerator[bytes, None]:
        with closing(response):
            for chunk in response.iter_bytes():
                yield chunk

    async def _pause(self, seconds: float) -> None:
        time.sleep(seconds)

    @asynccontextmanager
    async def _locked(self) -> AsyncIterator[None]:
        with self._lock:
            yield


class AsyncClient(_Calls[AsyncIterator[ChangeBatch], AsyncIterator[ExportBatch]], AsyncOperations):
    """A client of one API key for asyncio."""

    def __init__(self, base_url: str, api_key: str, *, http: httpx.AsyncClient | None = None, **options: Unpack[Options]) -> None:
        super().__init__(base_url, api_key, http or httpx.AsyncClient(), asyncio.Lock(), options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()
