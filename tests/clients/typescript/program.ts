// An application on types generated from the document. Prints its results as one line of JSON.

import createClient from "openapi-fetch";
import type { paths } from "./schema.js";

const [address, apiKey, subdomain, firstLocation] = process.argv.slice(2) as [string, string, string, string];
const header = { "Svc-Api-Version": "v3.0.0" } as const;
const location_id = Number(firstLocation);
const api = createClient<paths>({ baseUrl: address, headers: { "User-Agent": "clients-test/1.0" } });

function must<T>(what: string, data: T | undefined, error: unknown): T {
  if (data === undefined) throw new Error(`${what}: ${JSON.stringify(error)}`);
  return data;
}

const signedIn = await api.POST("/authenticates", { params: { header }, headers: { Authorization: apiKey } });
const token: string = must("authenticate", signedIn.data, signedIn.error).data.token;
api.use({
  onRequest({ request }) {
    request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
});

const locations = await api.GET("/locations", { params: { header, query: { subdomain } } });
const institutions = must("locations", locations.data, locations.error).data;

const place = { subdomain, location_id };
const search = await api.POST("/intent/booking/search", { params: { header, query: place }, body: { days: 14, limit: 5 } });
const offer = must("search", search.data, search.error).slots[0];
if (offer === undefined) throw new Error("no open time");

const book = await api.POST("/intent/booking/book", {
  params: { header, query: place },
  body: {
    slot_token: offer.slot_token,
    idempotency_key: "typescript-1",
    patient: {
      first_name: "Tyra",
      last_name: "Script",
      date_of_birth: "1990-04-12",
      phone_number: "+1 555 010 1234",
      email: "tyra@mail.example",
    },
  },
});
const booking = must("book", book.data, book.error).booking;
if (!booking) throw new Error("a single booking has an answer for a group");

const day = offer.start_iso.slice(0, 10);
const span = { start: `${day}T00:00:00Z`, end: `${day}T23:59:59Z`, per_page: 1000 };
const appointments = await api.GET("/appointments", { params: { header, query: { ...place, ...span } } });
const booked = must("appointments", appointments.data, appointments.error).data.find((it) => it.id === booking.appointment_id);

const patients = await api.GET("/patients", { params: { header, query: { ...place, per_page: 2 } } });
const page = must("patients", patients.data, patients.error);

const wrong = await api.GET("/operatories", { params: { header, query: { subdomain, location_id: 999_999 } } });
if (wrong.error === undefined) throw new Error("a location nobody has was found");
const refused: string[] = wrong.error.error;

const sawLocations = institutions.flatMap((institution) => institution.locations).map((location) => location.id);
const seen = {
  locations: sawLocations,
  booking: booking.booking_ref,
  writeback: booking.ehr_writeback,
  appointment: booked?.start_time ?? null,
  patients: page.data.length,
  more_patients: page.page_info.has_next_page,
  refused,
};
console.log(JSON.stringify(seen));
