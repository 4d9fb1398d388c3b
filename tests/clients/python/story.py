"""The story of the guide with the Python client, and its behaviour when calls fail. Prints the booking as JSON.
Arguments: address, API key, subdomain, location."""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeVar

import httpx

from practice_sync_client import ApiError, AsyncClient, Client, ConnectionFailed, WebhookError, types, verify_webhook

T = TypeVar("T")
address, api_key, subdomain, location = sys.argv[1:]
at = int(location)
user_agent = "clients-test/1.0"


class Broken(httpx.SyncByteStream):
    """An export that breaks within the line after its first position."""

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self.stream = stream

    def __iter__(self) -> Iterator[bytes]:
        text = b"".join(self.stream)
        yield text[: text.index(b"\n", text.index(b'{"type":"resume"')) + 20]
        raise httpx.ReadError("the connection broke")

    def close(self) -> None:
        self.stream.close()


class Faults(httpx.HTTPTransport):
    """Faults between client and service. Each happens once."""

    def __init__(self) -> None:
        super().__init__()
        self.planned: set[str] = set()
        self.sent: list[httpx.Request] = []

    def is_planned(self, fault: str) -> bool:
        planned = fault in self.planned
        self.planned.discard(fault)
        return planned

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.sent.append(request)
        if path != "/authenticates" and self.is_planned("token invalid"):
            request.headers["Authorization"] = request.headers["Authorization"][:-8] + "AAAAAAAA"
        if path == "/changes" and self.is_planned("cursor expired"):
            failure = {"code": False, "reason": "cursor_expired", "description": None, "error": ["expired"], "data": None}
            return httpx.Response(400, json=failure)
        if path == "/me" and self.is_planned("proxy refuses"):
            return httpx.Response(403, json={"error": "Forbidden"})
        response = super().handle_request(request)
        if path != "/authenticates" and self.is_planned("response lost"):
            response.close()
            raise httpx.ReadError("the response was lost")
        if path == "/export" and self.is_planned("stream broken"):
            assert isinstance(response.stream, httpx.SyncByteStream)
            return httpx.Response(response.status_code, headers=response.headers, stream=Broken(response.stream))
        return response

    def sign_ins(self) -> int:
        return sum(request.url.path == "/authenticates" for request in self.sent)


class Receiver(BaseHTTPRequestHandler):
    messages: list[types.WebhookMessage] = []
    secrets = ["whsec_of_another_endpoint"]
    wrong: list[str] = []

    def do_POST(self) -> None:
        body, headers = self.rfile.read(int(self.headers["Content-Length"])), dict(self.headers.items())
        later = datetime.now(timezone.utc) + timedelta(minutes=10)
        for secrets, now in (["whsec_wrong"], None), (self.secrets, later):
            try:
                verify_webhook(secrets, headers, body, now=now)
                self.wrong.append("a wrong secret or an old message was accepted")
            except WebhookError:
                pass
        delivery_id, message = verify_webhook(self.secrets, headers, body)
        if not delivery_id:
            self.wrong.append("a message without a delivery id")
        self.messages.append(message)
        self.send_response(200)
        self.end_headers()


def until(found: Callable[[], T | None]) -> T:
    for _ in range(120):
        if (value := found()) is not None:
            return value
        time.sleep(0.5)
    raise SystemExit(f"not reached: {found}")


def refused(call: Callable[[], object]) -> ApiError:
    try:
        call()
    except ApiError as error:
        return error
    raise SystemExit("the call was not refused")


faults = Faults()
api = Client(address, api_key, http=httpx.Client(transport=faults), user_agent=user_agent, subdomain=subdomain)
receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=receiver.serve_forever, daemon=True).start()

# Webhooks.
endpoint = api.create_webhook_endpoint({"target_url": f"http://127.0.0.1:{receiver.server_address[1]}/"})["data"]
Receiver.secrets.append(endpoint["secret_key"] or "")
# A POST with a key is repeated with it.
faults.planned.add("response lost")
api.create_webhook_subscription(endpoint["id"], {"resource_type": "Appointment", "event": "appointment_insertion"})
lost, repeated = faults.sent[-2:]
assert lost.url.path.endswith("/webhook_subscriptions") and repeated.url.path == lost.url.path
assert lost.headers["Idempotency-Key"] == repeated.headers["Idempotency-Key"]

# A token that is no longer valid is renewed once.
assert faults.sign_ins() == 1
faults.planned.add("token invalid")
locations = [place["id"] for institution in api.list_locations()["data"] for place in institution["locations"]]
assert faults.sign_ins() == 2

# The copy begins here.
[start] = api.changes(location_id=at, every=None)
assert start.reload and not start.changes
cursor = start.cursor

# A booking whose response is lost is the same booking.
search = api.search_slots({"days": 14, "limit": 1}, location_id=at)
slot = search["slots"][0]
api.hold_slot({"slot_token": slot["slot_token"]}, location_id=at)
patient: types.BookBodyPatient = {"first_name": "Pia", "last_name": "Thon", "date_of_birth": "1990-04-12"}
patient |= {"phone_number": "+1 555 010 4321", "email": "pia@mail.example"}
faults.planned.add("response lost")
faults.sent.clear()
booked = api.book({"slot_token": slot["slot_token"], "patient": patient}, location_id=at)
assert booked["replay"]
assert len({request.headers["X-Request-Id"] for request in faults.sent}) == 1 and len(faults.sent) == 2
booking = booked.get("booking")
assert booking and booking["booking_ref"]
booking_ref = booking["booking_ref"]


def status() -> types.Booking:
    return api.get_booking(booking_ref=booking_ref)["booking"]


written = until(lambda: it if (it := status())["ehr_writeback"] != "pending" else None)
assert written["ehr_writeback"] == "confirmed", written
until(lambda: True if Receiver.messages else None)
assert not Receiver.wrong, Receiver.wrong
message = Receiver.messages[0]
assert message["event_name"] == "appointment_insertion.complete"
assert message["data"]["appointment"]["id"] == written["appointment_id"]

# The changes since then contain the appointment. After the loop they continue at the cursor.
for batch in api.changes(location_id=at, since=cursor, every=0.5):
    cursor = batch.cursor
    assert not batch.reload
    if any((it["resource"], it["id"]) == ("appointments", written["appointment_id"]) for it in batch.changes):
        break
faults.planned.add("cursor expired")
[again] = api.changes(location_id=at, since=cursor, every=None)
assert again.reload

# Change and cancel.
other = api.search_slots({"days": 14, "limit": 20}, location_id=at)["slots"][-1]
api.reschedule_visit({"booking_ref": booking_ref, "slot_token": other["slot_token"]})


def moved_or_none() -> types.Booking | None:
    it = status()
    reschedule = it.get("reschedule")
    return it if reschedule and reschedule["status"] != "pending" else None


moved = until(moved_or_none)
assert moved["ehr_writeback"] == "confirmed" and moved["start_iso"] == other["start_iso"], moved
# A POST without a key is not repeated. This one had its effect.
faults.planned.add("response lost")
faults.sent.clear()
try:
    api.cancel_booking({"booking_ref": booking_ref, "reason": "is ill"})
    raise SystemExit("the response was not lost")
except ConnectionFailed as error:
    assert not error.timed_out and len(faults.sent) == 1
until(lambda: True if status()["cancellation_writeback"] == "confirmed" else None)

# Lists.
ids = [it["id"] for it in api.iter_patients(location_id=at, per_page=1000)]
assert len(ids) > 50 and [it["id"] for it in api.iter_patients(location_id=at, per_page=25)] == ids

# An export continues after a broken connection, has each record once, and ends with the position of its changes.
faults.planned.add("stream broken")
faults.sent.clear()
batches = list(api.export(location_id=at))
asked = [request.url.params.get("cursor") for request in faults.sent if request.url.path == "/export"]
assert asked == [None, batches[0].cursor], asked
assert [it.is_last for it in batches] == [False] * (len(batches) - 1) + [True]
exported = [(record["resource"], record["id"]) for batch in batches for record in batch.records]
assert len(set(exported)) == len(exported) and {("patients", it) for it in ids} <= set(exported)
assert not any(it.reload for it in api.changes(location_id=at, since=batches[-1].cursor, every=None))

# Refusals, limits and lost connections.
unknown = refused(lambda: api.list_operatories(location_id=999_999))
assert (unknown.status, unknown.reason) == (404, "location_not_found")
assert unknown.request_id and "999999" in unknown.message
faults.planned.add("proxy refuses")
forbidden = refused(api.get_me)
assert (forbidden.status, forbidden.reason, forbidden.message) == (403, None, "Forbidden")
not_found = refused(lambda: api.book({"slot_token": "slt_altered", "patient": patient}, location_id=at, idempotency_key="mine"))
assert (not_found.status, not_found.reason, not_found.body["ok"]) == (404, "slot_not_found", False)
assert json.loads(faults.sent[-1].content)["idempotency_key"] == "mine"
day = search["today"]


def count_limited(client: Client) -> int:
    def call(_: int) -> bool:
        try:
            client.list_appointments(location_id=at, start=f"{day}T00:00:00Z", end=f"{day}T23:59:59Z")
            return False
        except ApiError as error:
            assert error.status == 429 and (error.retry_after or 0) >= 1, error
            return True

    with ThreadPoolExecutor(14) as pool:
        return sum(pool.map(call, range(14)))


with Client(address, api_key, user_agent=user_agent, subdomain=subdomain, retries=0) as impatient:
    assert count_limited(impatient) > 0
assert count_limited(api) == 0, "the client waits for Retry-After"
receiver.shutdown()
# The socket still listens, and no one answers.
silent = f"http://127.0.0.1:{receiver.server_address[1]}"
with Client(silent, api_key, user_agent=user_agent, retries=1, timeout=0.05) as slow:
    try:
        slow.get_me()
        raise SystemExit("a silent service answered")
    except ConnectionFailed as error:
        assert error.timed_out
receiver.server_close()


async def with_asyncio() -> None:
    async with AsyncClient(address, api_key, user_agent=user_agent, subdomain=subdomain) as client:
        me, places = await asyncio.gather(client.get_me(), client.list_locations())
        assert me["data"]["key_id"] and places["data"]
        assert [it["id"] async for it in client.iter_patients(location_id=at, per_page=25)] == ids
        assert [it.reload async for it in client.changes(location_id=at, every=None)] == [True]
        copied = [(it["resource"], it["id"]) async for batch in client.export(location_id=at) for it in batch.records]
        assert {("patients", it) for it in ids} <= set(copied)


asyncio.run(with_asyncio())
print(json.dumps({"locations": locations, "booking": booking_ref, "appointment": written["appointment_id"], "start": moved["start_iso"]}))
