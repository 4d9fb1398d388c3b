"""Subscribes to bookings, books the first free slot, and follows it into the practice's system. The client: api/clients/python.
Arguments: address, API key, subdomain, location, URL of the receiver."""

import sys, time

from practice_sync_client import Client, types

address, api_key, subdomain, location, target_url = sys.argv[1:]
with Client(address, api_key, user_agent="booking-sample/1.0", subdomain=subdomain) as api:
    endpoint = api.create_webhook_endpoint({"target_url": target_url})["data"]
    api.create_webhook_subscription(endpoint["id"], {"resource_type": "Appointment", "event": "appointment_insertion"})

    search = api.search_slots({"days": 14, "limit": 1}, location_id=int(location))
    if not search["slots"]:
        raise SystemExit(search["message"])
    token = search["slots"][0]["slot_token"]
    api.hold_slot({"slot_token": token}, location_id=int(location))
    patient: types.BookBodyPatient = {"first_name": "Pia", "last_name": "Sample", "date_of_birth": "1990-04-12"}
    patient |= {"phone_number": "+1 555 010 4321", "email": "pia@mail.example"}
    booking = api.book({"slot_token": token, "patient": patient}).get("booking")
    while booking and booking["booking_ref"] and booking["ehr_writeback"] == "pending":
        time.sleep(1)
        booking = api.get_booking(booking_ref=booking["booking_ref"])["booking"]
if booking:
    print(booking["booking_ref"], booking["start_local"], booking["ehr_writeback"])
