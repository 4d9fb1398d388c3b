"""A receptionist: books for two, then finds one of the visits by its patient, moves, confirms and cancels it. Needs only the
standard library. Arguments: address, API key, subdomain, location."""

import json, sys, time, uuid
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

address, api_key, subdomain, location = sys.argv[1:]
headers = {"Authorization": api_key, "Svc-Api-Version": "v3.0.0", "User-Agent": "receptionist/1.0", "Content-Type": "application/json"}
Fields = dict[str, Any]


def call(method: str, path: str, body: Fields | None = None, **query: str) -> Fields:
    url = f"{address}{path}?{urlencode({'subdomain': subdomain, 'location_id': location} | query)}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urlopen(Request(url, data, headers, method=method), timeout=30) as response:
            answer: Fields = json.load(response)
    except HTTPError as refusal:
        answer = json.load(refusal)
        if answer.get("reason") != "slot_taken":
            raise SystemExit(f"refused: {answer}") from refusal
    return answer


def intent(name: str, **body: Any) -> Fields:
    return call("POST", f"/intent/booking/{name}", body)


def book_together(patients: list[Fields]) -> Fields:
    for group in intent("search", days=14, party_size=len(patients), limit=3)["groups"]:
        members = [{"slot_token": slot["slot_token"], "patient": patient} for slot, patient in zip(group["slots"], patients)]
        answer = intent("book", bookings=members, idempotency_key=str(uuid.uuid4()))
        if answer["ok"]:  # Otherwise another caller was faster, and the next times are tried.
            return answer
    raise SystemExit("There are no free times in a row.")


def written(booking_ref: str) -> str:
    answer = call("GET", "/intent/booking/status", booking_ref=booking_ref)
    while answer["booking"]["ehr_writeback"] == "pending":
        time.sleep(0.5)
        answer = call("GET", "/intent/booking/status", booking_ref=booking_ref)
    return str(answer["message"])


headers["Authorization"] = "Bearer " + call("POST", "/authenticates")["data"]["token"]
family: Fields = {"last_name": "Sample", "phone_number": "+1 555 010 9876", "email": "sample@mail.example"}
ida, ole = family | {"first_name": "Ida", "date_of_birth": "1988-03-09"}, family | {"first_name": "Ole", "date_of_birth": "2009-11-30"}
for booking in book_together([ida, ole])["bookings"]:
    print(written(booking["booking_ref"]))
visit, slot = intent("find", patient=ida)["visits"][0], intent("search", days=14, limit=1)["slots"][0]
token, key = visit["visit_token"], str(uuid.uuid4())
print(intent("reschedule", visit_token=token, slot_token=slot["slot_token"], idempotency_key=key)["message"])
print(written(visit["booking_ref"]))
print(intent("confirm", visit_token=token)["message"])
print(intent("cancel", visit_token=token, reason="is ill")["message"])
