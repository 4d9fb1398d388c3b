// Subscribes to bookings, books the first free slot, and follows it into the practice's system. Types: npx openapi-typescript
// http://127.0.0.1:8080/openapi.json --output schema.d.ts. Arguments: address, API key, subdomain, location, URL of the receiver.
import createClient from "openapi-fetch";
import { setTimeout } from "node:timers/promises";
import type { paths } from "./schema.js";

const [baseUrl, apiKey, subdomain, location, target_url] = process.argv.slice(2) as [string, string, string, string, string];
const header = { "Svc-Api-Version": "v3.0.0" } as const;
const query = { subdomain, location_id: Number(location) };
const api = createClient<paths>({ baseUrl, headers: { "User-Agent": "booking-sample/1.0" } });

async function ok<T>(call: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await call;
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const signedIn = await ok(api.POST("/authenticates", { params: { header }, headers: { Authorization: apiKey } }));
api.use({ onRequest: ({ request }) => request.headers.set("Authorization", `Bearer ${signedIn.data.token}`) });

const endpoint = await ok(api.POST("/webhook_endpoints", { params: { header }, body: { target_url } }));
await ok(api.POST("/webhook_endpoints/{id}/webhook_subscriptions", {
  params: { header, path: { id: endpoint.data.id }, query: { subdomain } },
  body: { resource_type: "Appointment", event: "appointment_insertion" },
}));

const search = await ok(api.POST("/intent/booking/search", { params: { header, query }, body: { days: 14, limit: 1 } }));
if (!search.slots[0]) throw new Error(search.message);
const { slot_token } = search.slots[0];
await ok(api.POST("/intent/booking/hold", { params: { header, query }, body: { slot_token } }));
const patient = { first_name: "Tyra", last_name: "Sample", date_of_birth: "1990-04-12", phone_number: "+1 555 010 1234", email: "tyra@mail.example" };
const body = { slot_token, idempotency_key: crypto.randomUUID(), patient };
let { booking } = await ok(api.POST("/intent/booking/book", { params: { header, query }, body }));
while (booking?.booking_ref && booking.ehr_writeback === "pending") {
  await setTimeout(1000);
  const status = { params: { header, query: { subdomain, booking_ref: booking.booking_ref } } };
  ({ booking } = await ok(api.GET("/intent/booking/status", status)));
}
console.log(booking?.booking_ref, booking?.start_local, booking?.ehr_writeback);
