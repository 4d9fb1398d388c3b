"""An application on a client generated from the document. Prints its results as one line of JSON."""

import datetime
import json
import sys
from typing import Any, TypeVar

from practice_sync_client import AuthenticatedClient
from practice_sync_client.api.access import authenticate
from practice_sync_client.api.booking_intent import book, search_slots
from practice_sync_client.api.patients import list_patients
from practice_sync_client.api.practice import list_locations, list_operatories
from practice_sync_client.api.schedule import list_appointments
from practice_sync_client.models import (
    ApiVersion,
    BearerTokenAnswer,
    BookBody,
    BookBodyPatientType0,
    Booking,
    BookResponse,
    Failure,
    SlotSearchResult,
    SearchSlotsBody,
)
from practice_sync_client.types import Response

T = TypeVar("T")


def must(answer: Response[Any], kind: type[T]) -> T:
    """Returns the answer's body, which must be of this type."""
    if not isinstance(answer.parsed, kind):
        raise SystemExit(f"{answer.status_code}: {answer.content.decode()}")
    return answer.parsed


def client(address: str, token: str, prefix: str) -> AuthenticatedClient:
    headers = {"User-Agent": "clients-test/1.0"}
    return AuthenticatedClient(base_url=address, token=token, prefix=prefix, headers=headers)


def main(address: str, api_key: str, subdomain: str, location_id: int) -> None:
    key = client(address, api_key, prefix="")
    signed_in = authenticate.sync_detailed(client=key, svc_api_version=ApiVersion.V3_0_0)
    api = client(address, must(signed_in, BearerTokenAnswer).data.token, prefix="Bearer")

    locations = list_locations.sync(
        client=api, subdomain=subdomain, svc_api_version=ApiVersion.V3_0_0
    )
    if locations is None or isinstance(locations, Failure):
        raise SystemExit(f"no locations: {locations}")

    search = search_slots.sync_detailed(
        client=api,
        subdomain=subdomain,
        location_id=location_id,
        svc_api_version=ApiVersion.V3_0_0,
        body=SearchSlotsBody(days=14, limit=5),
    )
    offer = must(search, SlotSearchResult).slots[0]

    booked = book.sync_detailed(
        client=api,
        subdomain=subdomain,
        location_id=location_id,
        svc_api_version=ApiVersion.V3_0_0,
        body=BookBody(
            slot_token=offer.slot_token,
            idempotency_key="python-1",
            patient=BookBodyPatientType0(
                first_name="Pia",
                last_name="Thon",
                date_of_birth=datetime.date(1990, 4, 12),
                phone_number="+1 555 010 4321",
                email="pia@mail.example",
            ),
        ),
    )
    booking = must(booked, BookResponse).booking
    if not isinstance(booking, Booking):
        raise SystemExit("a single booking has an answer for a group")

    start = datetime.datetime.fromisoformat(offer.start_iso)
    appointments = list_appointments.sync(
        client=api,
        subdomain=subdomain,
        location_id=location_id,
        start=start - datetime.timedelta(hours=1),
        end=start + datetime.timedelta(hours=1),
        per_page=1000,
        svc_api_version=ApiVersion.V3_0_0,
    )
    if appointments is None or isinstance(appointments, Failure):
        raise SystemExit(f"no appointments: {appointments}")
    own = [it for it in appointments.data if it.id == booking.appointment_id]

    patients = list_patients.sync(
        client=api,
        subdomain=subdomain,
        location_id=location_id,
        per_page=2,
        svc_api_version=ApiVersion.V3_0_0,
    )
    if patients is None or isinstance(patients, Failure):
        raise SystemExit(f"no patients: {patients}")

    wrong = list_operatories.sync_detailed(
        client=api,
        subdomain=subdomain,
        location_id=999_999,
        svc_api_version=ApiVersion.V3_0_0,
    )
    refused = must(wrong, Failure)

    seen = {
        "locations": [location.id for institution in locations.data for location in institution.locations],
        "booking": booking.booking_ref,
        "writeback": str(booking.ehr_writeback),
        "appointment": own[0].start_time.isoformat() if own and own[0].start_time else None,
        "patients": len(patients.data),
        "more_patients": patients.page_info.has_next_page,
        "refused": refused.error,
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
