// Subscribes to bookings, books the first free slot, and follows it into the practice's system. The client: api/clients/typescript.
// Arguments: address, API key, subdomain, location, URL of the receiver.
import { PracticeSync } from "practice-sync-client";
import { setTimeout } from "node:timers/promises";

const [baseUrl, apiKey, subdomain, location, target_url] = process.argv.slice(2) as [string, string, string, string, string];
const api = new PracticeSync({ baseUrl, apiKey, userAgent: "booking-sample/1.0" });
const query = { subdomain, location_id: Number(location) };

const endpoint = await api.post("/webhook_endpoints", { body: { target_url } });
await api.post("/webhook_endpoints/{id}/webhook_subscriptions", {
  path: { id: endpoint.data.id },
  query: { subdomain },
  body: { resource_type: "Appointment", event: "appointment_insertion" },
});

const search = await api.post("/intent/booking/search", { query, body: { days: 14, limit: 1 } });
if (!search.slots[0]) throw new Error(search.message);
const { slot_token } = search.slots[0];
await api.post("/intent/booking/hold", { query, body: { slot_token } });
const patient = { first_name: "Tyra", last_name: "Sample", date_of_birth: "1990-04-12", phone_number: "+1 555 010 1234", email: "tyra@mail.example" };
let { booking } = await api.post("/intent/booking/book", { query, body: { slot_token, patient } });
while (booking?.booking_ref && booking.ehr_writeback === "pending") {
  await setTimeout(1000);
  ({ booking } = await api.get("/intent/booking/status", { query: { subdomain, booking_ref: booking.booking_ref } }));
}
console.log(booking?.booking_ref, booking?.start_local, booking?.ehr_writeback);
