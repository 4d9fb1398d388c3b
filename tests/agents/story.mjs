// The life of a visit through the tools, with the client of the official SDK: `node story.mjs URL KEY LOCATION VERSION`.
// The client checks each result against the tool's `outputSchema`.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [url, key, location, version] = process.argv.slice(2);
const TOOLS = [
  "practice_info",
  "find_times",
  "explain_times",
  "hold_time",
  "book",
  "find_visits",
  "change_visit",
  "cancel_visit",
  "booking_status",
];
const READS = ["practice_info", "find_times", "explain_times", "find_visits", "booking_status"];
const ATTEMPTS = 150;

// The client negotiates 2025-11-25 unless it is pinned to a later version.
const mode = version === "2025-11-25" ? "legacy" : { pin: version };
const client = new Client({ name: "story", version: "1.0.0" }, { versionNegotiation: { mode } });
const headers = { Authorization: `Bearer ${key}` };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
assert.equal(client.getNegotiatedProtocolVersion(), version);
assert.ok(client.getInstructions().includes("never"), "the server instructs the model");

const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name).sort(), [...TOOLS].sort());
for (const { name, inputSchema, outputSchema, annotations } of tools) {
  assert.equal(inputSchema.type, "object", name);
  assert.ok(outputSchema, name);
  assert.equal(annotations.readOnlyHint, READS.includes(name), name);
  assert.equal(typeof annotations.destructiveHint, "boolean", name);
  assert.equal(annotations.idempotentHint, true, name);
}

async function call(name, parameters, refused = false) {
  const result = await client.callTool({ name, arguments: { location_id: Number(location), ...parameters } });
  const { speech, today, timezone, facts } = result.structuredContent;
  const shown = `${name}: ${JSON.stringify(result.structuredContent)}`;
  assert.equal(result.isError ?? false, refused, shown);
  assert.ok(speech.length > 0 && /^\d{4}-\d\d-\d\d$/.test(today) && timezone.includes("/"), shown);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent, shown);
  return facts;
}

async function written(booking_ref, done) {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const { booking } = await call("booking_status", { booking_ref });
    if (done(booking)) return;
    await pause(200);
  }
  throw new Error(`${booking_ref} is not in the practice's system`);
}

const info = await call("practice_info", {});
assert.ok(info.appointment_types.length > 0 && info.providers.length > 0, JSON.stringify(info));

const { slots } = await call("find_times", { limit: 50 });
const [first] = slots;
const other = slots.find((slot) => Date.parse(slot.start_iso) >= Date.parse(first.start_iso) + 4 * 3600 * 1000);
const explained = await call("explain_times", { slot_token: first.slot_token });
assert.equal(explained.slot.reason, "offered");
assert.ok((await call("hold_time", { slot_token: first.slot_token })).held_until);

const known = { last_name: `Story ${version}`, date_of_birth: "1985-03-01", phone_number: "+1 555 010 2233" };
const patient = { first_name: "Ida", email: "ida@mail.example", ...known };
const booked = await call("book", { slot_token: first.slot_token, patient });
const again = await call("book", { slot_token: first.slot_token, patient, note: "the same call, in other words" });
const { booking_ref, start_iso } = booked.booking;
assert.deepEqual([booked.replay, again.replay, again.booking.booking_ref], [false, true, booking_ref]);
assert.equal(start_iso, first.start_iso);
await written(booking_ref, (booking) => booking.ehr_writeback === "confirmed");

const { visits } = await call("find_visits", { patient: known });
assert.deepEqual(visits.map((visit) => visit.booking_ref), [booking_ref]);
const { visit_token } = visits[0];
const confirmed = await call("change_visit", { action: "confirm", visit_token });
assert.ok(confirmed.booking.patient_confirmed_at);
const moved = await call("change_visit", { action: "reschedule", visit_token, slot_token: other.slot_token });
assert.deepEqual([moved.booking.booking_ref, moved.booking.start_iso], [booking_ref, other.start_iso]);
await written(booking_ref, (booking) => booking.reschedule.status === "confirmed");
const cancelled = await call("cancel_visit", { booking_ref });
assert.equal(cancelled.booking.booking_status, "cancelled");
await written(booking_ref, (booking) => booking.cancellation_writeback === "confirmed");
assert.deepEqual((await call("find_visits", { patient: known })).visits, []);

// A model can repair its arguments from a result; an unknown tool is an error of the protocol.
assert.equal((await call("booking_status", { booking_ref: "bkg_invented" }, true)).reason, "booking_not_found");
const wrong = await call("find_times", { limit: "many" }, true);
assert.equal(wrong.reason, "invalid_request");
assert.ok(wrong.problems.join().includes("limit"), JSON.stringify(wrong));
await assert.rejects(client.callTool({ name: "list_patients", arguments: {} }), (error) => error.code === -32602);

await client.close();
console.log(JSON.stringify({ version, booking_ref }));
