"""Subscribes to bookings, books the first free slot, and follows it into the practice's system. The client: openapi-python-client generate
--url http://127.0.0.1:8080/openapi.json. Arguments: address, API key, subdomain, location, URL of the receiver."""

import datetime, sys, time, uuid
from typing import Any

from practice_sync_client import AuthenticatedClient, models
from practice_sync_client.api.access import authenticate
from practice_sync_client.api.booking_intent import book, get_booking, hold_slot, search_slots
from practice_sync_client.api.webhooks import create_webhook_endpoint, create_webhook_subscription

address, api_key, subdomain, location, target_url = sys.argv[1:]
version, headers = models.ApiVersion.V3_0_0, {"User-Agent": "booking-sample/1.0"}


def ok(answer: Any) -> Any:
    if answer is None or isinstance(answer, (models.Failure, models.BookingRefusal)):
        raise SystemExit(f"refused: {answer}")
    return answer


key = AuthenticatedClient(base_url=address, token=api_key, prefix="", headers=headers)
token = ok(authenticate.sync(client=key, svc_api_version=version)).data.token
api: dict[str, Any] = {"client": AuthenticatedClient(base_url=address, token=token, headers=headers), "svc_api_version": version}
practice, at = {**api, "subdomain": subdomain}, {**api, "subdomain": subdomain, "location_id": int(location)}

endpoint = ok(create_webhook_endpoint.sync(**api, body=models.CreateWebhookEndpointBody(target_url=target_url))).data
event = models.CreateWebhookSubscriptionBody(resource_type="Appointment", event="appointment_insertion")
ok(create_webhook_subscription.sync(endpoint.id, **practice, body=event))
slots = ok(search_slots.sync(**at, body=models.SearchSlotsBody(days=14, limit=1))).slots
ok(hold_slot.sync(**at, body=models.HoldSlotBody(slot_token=slots[0].slot_token)))
born, phone = datetime.date(1990, 4, 12), "+1 555 010 4321"
patient = models.BookBodyPatientType0(first_name="Pia", last_name="Sample", date_of_birth=born, phone_number=phone, email="pia@mail.example")
body = models.BookBody(slot_token=slots[0].slot_token, idempotency_key=str(uuid.uuid4()), patient=patient)
booking = ok(book.sync(**at, body=body)).booking
while booking.ehr_writeback == "pending":
    time.sleep(1)
    booking = ok(get_booking.sync(**practice, booking_ref=booking.booking_ref)).booking
print(booking.booking_ref, booking.start_local, booking.ehr_writeback)
